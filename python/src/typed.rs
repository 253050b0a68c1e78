//! Arrays of numpy whose memory calls use where it is, and reductions of such numbers.

use crate::given::CallResult;
use crate::own::RankCommunicator;
use bytemuck::{cast_slice, cast_slice_mut};
use motet::CommError;
use motet::comm::Plain;
use numpy::{Element, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use std::rc::Rc;

/// How two numbers are combined.
type Operator<T> = fn(T, T) -> T;

/// A number that Rust reduces in place.
pub(crate) trait TypedNumber: Plain + Element + Default {
    /// The operator with a name, if it is one of the usual four.
    fn operator(name: &str) -> Option<Operator<Self>>;
}

macro_rules! reduced {
    ($t:ty, $add:expr, $mul:expr, $max:expr, $min:expr) => {
        impl TypedNumber for $t {
            fn operator(name: &str) -> Option<Operator<$t>> {
                Some(match name {
                    "sum" => $add,
                    "prod" => $mul,
                    "max" => $max,
                    "min" => $min,
                    _ => return None,
                })
            }
        }
    };
}

macro_rules! real {
    ($t:ty) => {
        reduced!(
            $t,
            |a, b| a + b,
            |a, b| a * b,
            |a, b| if b > a || b.is_nan() { b } else { a },
            |a, b| if b < a || b.is_nan() { b } else { a }
        );
    };
}

real!(f32);
real!(f64);
reduced!(
    i32,
    i32::wrapping_add,
    i32::wrapping_mul,
    Ord::max,
    Ord::min
);
reduced!(
    i64,
    i64::wrapping_add,
    i64::wrapping_mul,
    Ord::max,
    Ord::min
);

/// Combines numbers, given as bytes, on every rank. Which call it is hangs on the datatype and the
/// operator alone, which are the same on all ranks.
pub(crate) async fn allreduce<T: TypedNumber>(
    comm: Rc<RankCommunicator>,
    bytes: Vec<u8>,
    op: Operator<T>,
    start: bool,
) -> Result<CallResult, CommError> {
    let mut numbers = vec![T::default(); bytes.len() / size_of::<T>()];
    let room: &mut [u8] = cast_slice_mut(&mut numbers);
    room.copy_from_slice(&bytes);
    let mut totals = vec![T::default(); numbers.len()];
    let call = comm.allreduce_into(&numbers, &mut totals, op);
    match start {
        true => call.start().wait().await?,
        false => call.await?,
    }
    Ok(CallResult::Bytes(cast_slice(&totals).to_vec()))
}

/// Calls `act` with the bytes of an array, if it is one of the usual numbers in a row.
pub(crate) fn with_bytes<R>(buf: &Bound<'_, PyAny>, act: impl FnOnce(&[u8]) -> R) -> Option<R> {
    macro_rules! of {
        ($($t:ty)*) => {$(
            if let Ok(array) = buf.cast::<PyArrayDyn<$t>>() {
                let array = array.try_readonly().ok()?;
                return Some(act(cast_slice(array.as_slice().ok()?)));
            }
        )*};
    }
    of!(f64 i64 f32 i32 u8);
    None
}

/// The same, to write them.
pub(crate) fn with_bytes_mut<R>(
    buf: &Bound<'_, PyAny>,
    act: impl FnOnce(&mut [u8]) -> R,
) -> Option<R> {
    macro_rules! of {
        ($($t:ty)*) => {$(
            if let Ok(array) = buf.cast::<PyArrayDyn<$t>>() {
                let mut array = array.try_readwrite().ok()?;
                return Some(act(cast_slice_mut(array.as_slice_mut().ok()?)));
            }
        )*};
    }
    of!(f64 i64 f32 i32 u8);
    None
}

/// Calls `act` with the numbers of two arrays of one type and length, if they do not overlap.
pub(crate) fn with_pair<T: TypedNumber, R>(
    numbers: &Bound<'_, PyAny>,
    totals: &Bound<'_, PyAny>,
    act: impl FnOnce(&[T], &mut [T]) -> R,
) -> Option<R> {
    let numbers = numbers.cast::<PyArrayDyn<T>>().ok()?.try_readonly().ok()?;
    let mut totals = totals.cast::<PyArrayDyn<T>>().ok()?.try_readwrite().ok()?;
    let (numbers, totals) = (numbers.as_slice().ok()?, totals.as_slice_mut().ok()?);
    (numbers.len() == totals.len()).then(|| act(numbers, totals))
}
