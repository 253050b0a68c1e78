//! Values as serde has them: vectors of plain numbers as they lie in memory, in formats that nobody
//! reads but programs.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;

/// Calls the macro for every type of plain numbers.
macro_rules! each_plain {
    ($with:ident) => {
        $with!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64)
    };
}

pub(crate) fn serialize<T, S>(value: &T, to: S) -> Result<S::Ok, S::Error>
where
    T: Serialize + 'static,
    S: Serializer,
{
    match plain_bytes(value) {
        Some(bytes) if !to.is_human_readable() => to.serialize_bytes(bytes),
        _ => value.serialize(to),
    }
}

pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + 'static,
    D: Deserializer<'de>,
{
    if plain_vector::<T>(&[]).is_some() && !from.is_human_readable() {
        return from.deserialize_bytes(Numbers(PhantomData));
    }
    T::deserialize(from)
}

/// The memory of the value, if it is a vector of plain numbers.
fn plain_bytes<T: 'static>(value: &T) -> Option<&[u8]> {
    let value: &dyn Any = value;
    macro_rules! look {
        ($($number:ty)*) => {
            $(if let Some(numbers) = value.downcast_ref::<Vec<$number>>() {
                return Some(bytemuck::cast_slice(numbers));
            })*
        };
    }
    each_plain!(look);
    None
}

/// A vector of plain numbers of these bytes, if `T` is one.
fn plain_vector<T: 'static>(bytes: &[u8]) -> Option<Result<T, String>> {
    macro_rules! look {
        ($($number:ty)*) => {
            $(if TypeId::of::<T>() == TypeId::of::<Vec<$number>>() {
                let mut read = Some(read::<$number>(bytes));
                let read: &mut dyn Any = &mut read;
                return read.downcast_mut::<Option<Result<T, String>>>()?.take();
            })*
        };
    }
    each_plain!(look);
    None
}

fn read<T: bytemuck::Pod>(bytes: &[u8]) -> Result<Vec<T>, String> {
    let numbers = bytes.chunks_exact(size_of::<T>());
    match numbers.remainder() {
        [] => Ok(numbers.map(bytemuck::pod_read_unaligned).collect()),
        _ => Err(format!("{} bytes are no whole numbers", bytes.len())),
    }
}

struct Numbers<T>(PhantomData<T>);

impl<T: 'static> Visitor<'_> for Numbers<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of numbers")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        let read = plain_vector(bytes).unwrap_or_else(|| Err("no numbers".to_owned()));
        read.map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use crate::Dyadic;

    #[test]
    fn numbers_inside_a_dyadic_total_go_as_they_are() {
        let add = |left: Vec<f64>, _| left;
        let mut numbers = Dyadic::new(5);
        numbers.push(vec![0.5; 100], add);
        numbers.push(vec![-0.0; 100], add);
        let bytes = postcard::to_stdvec(&numbers).unwrap();
        assert!((1600..1620).contains(&bytes.len()), "{}", bytes.len());
        assert_eq!(postcard::from_bytes(&bytes), Ok(numbers.clone()));
        let text = serde_json::to_string(&numbers).unwrap();
        assert_eq!(
            serde_json::from_str::<Dyadic<Vec<f64>>>(&text).unwrap(),
            numbers
        );
    }

    #[test]
    fn other_values_go_as_serde_has_them() {
        let mut words = Dyadic::new(0);
        words.push(vec!["a".to_owned()], |left, _| left);
        let bytes = postcard::to_stdvec(&words).unwrap();
        assert_eq!(postcard::from_bytes(&bytes), Ok(words));
    }

    #[test]
    fn torn_numbers_are_an_error() {
        let torn = postcard::to_stdvec(&(7_usize..8, vec![(0_u32, "nine.....")])).unwrap();
        assert!(postcard::from_bytes::<Dyadic<Vec<f64>>>(&torn).is_err());
    }
}
