//! Numbers that are combined: the own ones, or those of another process, where they have come.

use crate::Plain;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A vector of plain numbers. It goes between processes as `Vec` does; what comes is combined where
/// it lies.
#[derive(Debug)]
pub enum Numbers<T> {
    /// Of this process.
    Own(Vec<T>),
    /// The numbers' bytes, all of them whole.
    Came(Vec<u8>),
}

/// The numbers of these bytes, all of them whole; copied only where they begin at an odd place.
pub(super) fn numbers_of<T: Plain>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(numbers) => Cow::Borrowed(numbers),
        Err(_) => {
            let numbers = bytes.chunks_exact(size_of::<T>());
            Cow::Owned(numbers.map(bytemuck::pod_read_unaligned).collect())
        }
    }
}

impl<T: Plain> Numbers<T> {
    /// The numbers; copied only where their bytes begin at an odd place.
    pub fn all(&self) -> Cow<'_, [T]> {
        match self {
            Numbers::Own(numbers) => Cow::Borrowed(numbers),
            Numbers::Came(bytes) => numbers_of(bytes),
        }
    }

    /// The numbers as they lie in memory.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Numbers::Own(numbers) => bytemuck::cast_slice(numbers),
            Numbers::Came(bytes) => bytes,
        }
    }

    /// Combines these and, element by element, those behind them, in whose memory there is room.
    /// Where one side is shorter, the places behind its end are not combined.
    pub fn each(self, right: Numbers<T>, op: impl Fn(T, T) -> T) -> Numbers<T> {
        match (self, right) {
            (Numbers::Came(left), Numbers::Own(mut right)) => {
                let left = Numbers::Came(left);
                for (left, right) in left.all().iter().zip(&mut right) {
                    *right = op(*left, *right);
                }
                Numbers::Own(right)
            }
            (left, right) => {
                let mut left = left.into_own();
                for (left, right) in left.iter_mut().zip(&*right.all()) {
                    *left = op(*left, *right);
                }
                Numbers::Own(left)
            }
        }
    }

    fn into_own(self) -> Vec<T> {
        match self {
            Numbers::Own(numbers) => numbers,
            came @ Numbers::Came(_) => came.all().into_owned(),
        }
    }
}

impl<T: Plain> Serialize for Numbers<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.all().serialize(to)
    }
}

impl<'de, T: Plain> Deserialize<'de> for Numbers<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::deserialize(from).map(Numbers::Own)
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::wire::{adopt, decode, encode};

    fn came(numbers: &[f64], ahead: usize) -> Numbers<f64> {
        let (mut bytes, mut odd) = (Vec::new(), vec![0; 8 * numbers.len() + 8]);
        encode(&Numbers::Own(numbers.to_vec()), &mut bytes).unwrap();
        // Where bytes begin is the allocator's business: from a place that suits, this many behind
        // it.
        let begin = odd.as_ptr().align_offset(8) + ahead;
        odd.splice(begin.., bytes.iter().copied());
        odd.drain(..begin);
        Numbers::Came(odd)
    }

    #[test]
    fn numbers_go_as_vectors_do_and_stay_where_they_come_to() {
        let mut bytes = Vec::new();
        encode(&Numbers::Own(vec![1.5_f64, -0.0]), &mut bytes).unwrap();
        assert_eq!(decode::<Vec<f64>>(&bytes), Ok(vec![1.5, -0.0]));
        let read = decode::<Numbers<f64>>(&bytes).unwrap();
        assert_eq!(&*read.all(), [1.5, -0.0]);
        bytes.extend([1, 2, 3]);
        let place = bytes.as_ptr();
        let adopted = adopt::<Numbers<f64>>(&mut bytes, 16).unwrap().unwrap();
        assert_eq!(&*adopted.all(), [1.5, -0.0]);
        assert!(matches!(&adopted, Numbers::Came(bytes) if bytes.as_ptr() == place));
        let mut again = Vec::new();
        encode(&adopted, &mut again).unwrap();
        assert_eq!(decode::<Vec<f64>>(&again), Ok(vec![1.5, -0.0]));
        assert!(adopt::<Numbers<f64>>(&mut vec![0; 9], 9).unwrap().is_err());
        assert!(adopt::<Vec<f64>>(&mut vec![0; 8], 8).is_none());
    }

    #[test]
    fn elements_are_combined_in_order_wherever_they_are() {
        let (left, right) = ([8.0, 9.0, 10.0], [1.0, 2.0, 4.0]);
        let own = |numbers: [f64; 3]| Numbers::Own(numbers.to_vec());
        let less = |a: f64, b: f64| a - b;
        for ahead in 0..8 {
            let [one, other] = [came(&left, ahead), came(&right, ahead)];
            for combined in [
                own(left).each(own(right), less),
                one.each(own(right), less),
                own(left).each(other, less),
                came(&left, ahead).each(came(&right, ahead), less),
            ] {
                assert_eq!(&*combined.all(), [7.0, 7.0, 6.0]);
            }
        }
        assert!(own(left).each(came(&[], 0), less).all().len() == 3);
    }
}
