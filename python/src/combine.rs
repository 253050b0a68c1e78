//! How the operators of MPI combine numbers, given as the bytes that they have in memory.

use crate::given::Raised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Combines numbers place by place: `a[i] = a[i] op b[i]`, where `a` is of the lower ranks.
pub(crate) type ByteKernel = fn(a: &mut [u8], b: &[u8]);

/// An operator on the bytes of numbers.
pub(crate) enum ByteOperator {
    /// Of as many numbers; where the lengths differ, that is noted.
    Kernel(ByteKernel, Raised),
    /// A function of Python, of two `bytes`.
    Function(Py<PyAny>, Raised),
}

impl ByteOperator {
    /// Those of the lower ranks come first.
    pub(crate) fn combine(&self, mut lower: Vec<u8>, upper: Vec<u8>) -> Vec<u8> {
        match self {
            ByteOperator::Kernel(kernel, raised) => {
                if lower.len() == upper.len() {
                    kernel(&mut lower, &upper);
                } else {
                    let mut raised = raised.borrow_mut();
                    raised.get_or_insert_with(|| differ(&lower, &upper));
                }
                lower
            }
            ByteOperator::Function(function, raised) => {
                let combined = Python::attach(|py| {
                    let both = (PyBytes::new(py, &lower), PyBytes::new(py, &upper));
                    function.bind(py).call1(both)?.extract::<Vec<u8>>()
                });
                combined.unwrap_or_else(|error| {
                    raised.borrow_mut().get_or_insert(error);
                    lower
                })
            }
        }
    }
}

/// What is raised where ranks bring different lengths.
fn differ(lower: &[u8], upper: &[u8]) -> PyErr {
    let (one, other) = (lower.len(), upper.len());
    let said = format!("{one} and {other} bytes are not combined place by place");
    PyValueError::new_err(said)
}

/// A number, or what counts as one.
trait Number: Copy {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

fn each<T: Number>(a: &mut [u8], b: &[u8], op: impl Fn(T, T) -> T) {
    for (a, b) in a.chunks_exact_mut(T::SIZE).zip(b.chunks_exact(T::SIZE)) {
        op(T::read(a), T::read(b)).write(a);
    }
}

macro_rules! number {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                <$t>::from_ne_bytes(own)
            }
            #[inline]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

number!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

macro_rules! integer {
    ($t:ty, $op:expr) => {
        match $op {
            "sum" => |a, b| each::<$t>(a, b, <$t>::wrapping_add),
            "prod" => |a, b| each::<$t>(a, b, <$t>::wrapping_mul),
            "max" => |a, b| each::<$t>(a, b, Ord::max),
            "min" => |a, b| each::<$t>(a, b, Ord::min),
            "land" => |a, b| each::<$t>(a, b, |a, b| <$t>::from(a != 0 && b != 0)),
            "lor" => |a, b| each::<$t>(a, b, |a, b| <$t>::from(a != 0 || b != 0)),
            "lxor" => |a, b| each::<$t>(a, b, |a, b| <$t>::from((a != 0) != (b != 0))),
            "band" => |a, b| each::<$t>(a, b, |a, b| a & b),
            "bor" => |a, b| each::<$t>(a, b, |a, b| a | b),
            "bxor" => |a, b| each::<$t>(a, b, |a, b| a ^ b),
            _ => return None,
        }
    };
}

macro_rules! real {
    ($t:ty, $op:expr) => {
        match $op {
            "sum" => |a, b| each::<$t>(a, b, |a, b| a + b),
            "prod" => |a, b| each::<$t>(a, b, |a, b| a * b),
            "max" => |a, b| each::<$t>(a, b, |a, b| if b > a || b.is_nan() { b } else { a }),
            "min" => |a, b| each::<$t>(a, b, |a, b| if b < a || b.is_nan() { b } else { a }),
            "land" => |a, b| each::<$t>(a, b, |a, b| <$t>::from(a != 0.0 && b != 0.0)),
            "lor" => |a, b| each::<$t>(a, b, |a, b| <$t>::from(a != 0.0 || b != 0.0)),
            "lxor" => |a, b| each::<$t>(a, b, |a, b| <$t>::from((a != 0.0) != (b != 0.0))),
            _ => return None,
        }
    };
}

/// What combines numbers of a kind, as numpy names it (`i4`, `f8`); `None` when Python does it.
pub(crate) fn kernel(op: &str, kind: &str) -> Option<ByteKernel> {
    Some(match kind {
        "i1" => integer!(i8, op),
        "i2" => integer!(i16, op),
        "i4" => integer!(i32, op),
        "i8" => integer!(i64, op),
        "u1" => integer!(u8, op),
        "u2" => integer!(u16, op),
        "u4" => integer!(u32, op),
        "u8" => integer!(u64, op),
        "b1" => match op {
            "sum" | "max" | "lor" | "bor" => return kernel("lor", "u1"),
            "prod" | "min" | "land" | "band" => return kernel("land", "u1"),
            "lxor" | "bxor" => return kernel("lxor", "u1"),
            _ => return None,
        },
        "f4" => real!(f32, op),
        "f8" => real!(f64, op),
        // Real and imaginary part are added by themselves.
        "c8" if op == "sum" => real!(f32, op),
        "c16" if op == "sum" => real!(f64, op),
        _ => return None,
    })
}

/// The numbers combined: `lower op upper`; `None` when Python does it.
///
/// # Errors
/// The lengths differ.
#[pyfunction]
pub(crate) fn reduce_local<'py>(
    py: Python<'py>,
    op: &str,
    kind: &str,
    mut lower: Vec<u8>,
    upper: Vec<u8>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    if lower.len() != upper.len() {
        return Err(differ(&lower, &upper));
    }
    Ok(kernel(op, kind).map(|kernel| {
        kernel(&mut lower, &upper);
        PyBytes::new(py, &lower)
    }))
}
