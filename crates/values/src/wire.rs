//! Values as bytes, for other processes.
//!
//! Vectors of plain numbers go as they lie in memory, everything else as postcard writes it. All
//! processes of a run are the same program on machines of the same kind, so that nobody translates
//! numbers.

mod numbers;

pub use numbers::Numbers;

use numbers::numbers_of;

use crate::{Plain, Value};
use postcard::ser_flavors::Flavor;
use std::any::{Any, TypeId, type_name};
use std::borrow::Cow;
use std::marker::PhantomData;

/// What is to be known of the type of a message whose value is at hand.
#[derive(Debug)]
pub struct Typed {
    /// The type's name.
    pub name: fn() -> &'static str,
    /// As [`encode`](encode()). It panics where the value is of another type.
    pub encode: fn(&(dyn Any + Send), &mut Vec<u8>) -> Result<(), String>,
}

/// Gives what is to be known of a type.
///
/// ```
/// use motet_values::wire::Of;
///
/// let (typed, mut bytes) = (Of::<u8>::TYPE, Vec::new());
/// assert_eq!((typed.encode)(&7_u8, &mut bytes), Ok(()));
/// assert_eq!(((typed.name)(), &bytes[..]), ("u8", &[7][..]));
/// ```
#[derive(Debug)]
pub struct Of<T>(PhantomData<T>);

impl<T: Value> Of<T> {
    /// What is to be known of `T`.
    pub const TYPE: &'static Typed = &Typed {
        name: type_name::<T>,
        encode: |value, to| encode(value.downcast_ref::<T>().expect("the value is a T"), to),
    };
}

/// Appends the bytes of a value.
///
/// # Errors
/// Why it cannot be written; `to` then ends somewhere in the value.
///
/// ```
/// use motet_values::wire::{decode, encode};
///
/// let (mut bytes, value) = (Vec::new(), (1_u8, String::from("one")));
/// encode(&value, &mut bytes)?;
/// assert_eq!(decode(&bytes), Ok(value));
/// assert!(decode::<u8>(&bytes).unwrap_err().contains("left over"));
/// # Ok::<(), String>(())
/// ```
pub fn encode<T: Value>(value: &T, to: &mut Vec<u8>) -> Result<(), String> {
    if let Some(bytes) = plain_bytes(value) {
        to.extend_from_slice(bytes);
        return Ok(());
    }
    postcard::serialize_with_flavor(value, Appending(to)).map_err(|error| error.to_string())
}

/// The value that these bytes, all of them, stand for.
///
/// # Errors
/// Why they cannot be read as a `T`.
pub fn decode<T: Value>(bytes: &[u8]) -> Result<T, String> {
    if let Some(read) = plain_vector(bytes) {
        return read;
    }
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!(
            "{} of {} bytes are left over",
            rest.len(),
            bytes.len()
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Appends bytes to a vector that belongs to somebody else.
struct Appending<'a>(&'a mut Vec<u8>);

impl Flavor for Appending<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Calls the macro for every type whose vectors go as they lie in memory. Others that are [`Plain`]
/// go as serde has them.
macro_rules! each_plain {
    ($with:ident) => {
        $with!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
            [f32; 2] [f32; 3] [f32; 4] [f64; 2] [f64; 3] [f64; 4])
    };
}

/// The bytes of numbers of which vectors go as they lie in memory; `None` of others.
pub fn bytes_of<T: Plain>(numbers: &[T]) -> Option<&[u8]> {
    goes_plain::<T>().then(|| bytemuck::cast_slice(numbers))
}

/// The numbers of these bytes, all of them whole, of a vector that goes as it lies in memory;
/// `None` if it goes otherwise.
///
/// # Errors
/// The last number is not whole.
pub fn plain_numbers<T: Plain>(bytes: &[u8]) -> Option<Result<Cow<'_, [T]>, String>> {
    goes_plain::<T>().then(|| whole::<T>(bytes.len()).map(|()| numbers_of(bytes)))
}

/// Whether vectors of these numbers go as they lie in memory.
fn goes_plain<T: 'static>() -> bool {
    macro_rules! look {
        ($($number:ty)*) => { false $(|| TypeId::of::<T>() == TypeId::of::<$number>())* };
    }
    each_plain!(look)
}

/// The memory of the value, if it is a vector of plain numbers.
pub fn plain_bytes<T: 'static>(value: &T) -> Option<&[u8]> {
    let value: &dyn Any = value;
    macro_rules! look {
        ($($number:ty)*) => {
            $(if TypeId::of::<T>() == TypeId::of::<Vec<$number>>() {
                let numbers = value.downcast_ref::<Vec<$number>>();
                return numbers.map(|numbers| bytemuck::cast_slice(numbers));
            }
            if TypeId::of::<T>() == TypeId::of::<Numbers<$number>>() {
                return value.downcast_ref::<Numbers<$number>>().map(Numbers::bytes);
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
                return read::<$number>(bytes).map(same).transpose();
            }
            if TypeId::of::<T>() == TypeId::of::<Numbers<$number>>() {
                let numbers = read::<$number>(bytes);
                return numbers.map(|numbers| same(Numbers::Own(numbers))).transpose();
            })*
        };
    }
    each_plain!(look);
    None
}

/// The numbers of these bytes.
fn read<T: Plain>(bytes: &[u8]) -> Result<Vec<T>, String> {
    whole::<T>(bytes.len())?;
    Ok(match bytemuck::try_cast_slice(bytes) {
        // As most often: memory that begins somewhere suits all numbers.
        Ok(numbers) => numbers.to_vec(),
        Err(_) => {
            let numbers = bytes.chunks_exact(size_of::<T>());
            numbers.map(bytemuck::pod_read_unaligned).collect()
        }
    })
}

fn whole<T>(bytes: usize) -> Result<(), String> {
    match bytes.is_multiple_of(size_of::<T>()) {
        true => Ok(()),
        false => Err(format!("{bytes} bytes are no whole numbers")),
    }
}

/// A move between two names of one type.
fn same<T: 'static, U: 'static>(value: T) -> Option<U> {
    let mut value = Some(value);
    (&mut value as &mut dyn Any)
        .downcast_mut::<Option<U>>()?
        .take()
}

/// Numbers that stay where they are, the first so many of these bytes, if `T` is that. The rest is
/// taken with them.
///
/// # Errors
/// The last number is not whole.
pub fn adopt<T: 'static>(bytes: &mut Vec<u8>, length: usize) -> Option<Result<T, String>> {
    macro_rules! look {
        ($($number:ty)*) => {
            $(if TypeId::of::<T>() == TypeId::of::<Numbers<$number>>() {
                if let Err(torn) = whole::<$number>(length) {
                    return Some(Err(torn));
                }
                let mut numbers = std::mem::take(bytes);
                numbers.truncate(length);
                return same(Numbers::<$number>::Came(numbers)).map(Ok);
            })*
        };
    }
    each_plain!(look);
    None
}

/// Reads numbers and texts off the end of bytes, in the opposite order of writing. What is not
/// there is `None`.
///
/// ```
/// use motet_values::wire::{Tail, put_number, put_text};
///
/// let mut bytes = b"body".to_vec();
/// put_text(&mut bytes, "name");
/// put_number(&mut bytes, 42);
/// let mut tail = Tail(&bytes);
/// assert_eq!((tail.number(), tail.text(), tail.0), (Some(42), Some("name"), &b"body"[..]));
/// ```
#[derive(Debug)]
pub struct Tail<'a>(pub &'a [u8]);

impl<'a> Tail<'a> {
    /// A number.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let (rest, number) = self.0.split_last_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// Bytes in front of their number.
    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let begin = self.0.len().checked_sub(length)?;
        let (rest, bytes) = self.0.split_at(begin);
        self.0 = rest;
        Some(bytes)
    }

    /// A text.
    #[inline]
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

/// Appends a number for [`Tail::number`].
#[inline]
pub fn put_number(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_le_bytes());
}

/// Appends a text for [`Tail::text`].
#[inline]
pub fn put_text(to: &mut Vec<u8>, text: &str) {
    to.extend_from_slice(text.as_bytes());
    put_number(to, text.len() as u64);
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use crate::Local;
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    fn round<T: Value + PartialEq + Debug>(value: T) -> usize {
        let mut bytes = vec![7];
        encode(&value, &mut bytes).unwrap();
        assert_eq!(decode::<T>(&bytes[1..]), Ok(value));
        bytes.len() - 1
    }

    #[test]
    fn what_is_written_is_read() {
        round(());
        round(String::from("text"));
        round((1_u8, Some(-5_i64), 'x', vec![vec![0.5], vec![]]));
        round(BTreeMap::from([(1, "one".to_owned()), (2, String::new())]));
        round(f64::MIN_POSITIVE);
    }

    #[test]
    fn vectors_of_plain_numbers_go_as_they_are() {
        assert_eq!(round(vec![1.5_f64, -0.0, f64::INFINITY]), 24);
        assert_eq!(round(vec![u16::MAX; 3]), 6);
        assert_eq!(round(vec![i128::MIN]), 16);
        assert_eq!(round(vec![[1.5_f64, 2.5, 3.5]; 2]), 48);
        assert_eq!(round(Vec::<f32>::new()), 0);
        let mut bytes = Vec::new();
        encode(&vec![f64::from_bits(0x7ff8_dead_beef_0001)], &mut bytes).unwrap();
        assert_eq!(bytes, 0x7ff8_dead_beef_0001_u64.to_le_bytes(), "also a NaN");
    }

    #[test]
    fn other_bytes_are_no_value() {
        assert!(decode::<Vec<f64>>(&[0; 9]).is_err());
        assert!(decode::<u8>(&[1, 2]).unwrap_err().contains("left over"));
        assert!(decode::<String>(&[200]).is_err());
    }

    #[test]
    fn what_stays_in_its_process_is_not_written() {
        assert!(encode(&Local(1), &mut Vec::new()).is_err());
        assert!(decode::<Local<u8>>(&[1]).is_err());
    }

    #[test]
    fn a_tail_is_read_backwards() {
        let mut bytes = b"body".to_vec();
        put_text(&mut bytes, "Vec<f64>");
        put_number(&mut bytes, 42);
        let mut tail = Tail(&bytes);
        assert_eq!(
            (tail.number(), tail.text(), tail.0),
            (Some(42), Some("Vec<f64>"), &b"body"[..])
        );
        assert_eq!(Tail(&[1, 2]).number(), None);
        assert_eq!(Tail(&[255; 8]).text(), None);
    }
}
