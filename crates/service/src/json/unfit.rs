//! Why a body of JSON does not fit, and where.

use serde::de::{self, Expected, Unexpected};
use serde_json::{Error, Value};
use std::fmt::{self, Display};

/// Why a body does not fit, and where.
#[derive(Debug)]
pub(crate) struct Unfit(Box<UnfitPart>);

#[derive(Debug)]
struct UnfitPart {
    /// From the inside out.
    place: Vec<UnfitStep>,
    why: Error,
}

#[derive(Debug)]
enum UnfitStep {
    Name(String),
    Number(usize),
}

impl Unfit {
    #[cold]
    pub(super) fn of(why: Error) -> Self {
        let place = Vec::new();
        Unfit(Box::new(UnfitPart { place, why }))
    }

    /// What was wanted is not what is there.
    #[cold]
    pub(super) fn other_type(found: &Value, wanted: &dyn Expected) -> Self {
        let found = match found {
            Value::Null => Unexpected::Unit,
            Value::Bool(is) => Unexpected::Bool(*is),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Unexpected::Unsigned(number),
                (None, Some(number)) => Unexpected::Signed(number),
                (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, wanted)
    }

    #[cold]
    pub(super) fn no_key() -> Self {
        de::Error::invalid_value(Unexpected::Map, &"map with a single key")
    }

    /// The same, seen from the part of this name.
    #[cold]
    pub(super) fn in_part(mut self, name: &str) -> Self {
        self.0.place.push(UnfitStep::Name(name.to_owned()));
        self
    }

    /// The same, seen from the item of this number.
    #[cold]
    pub(super) fn in_item(mut self, number: usize) -> Self {
        self.0.place.push(UnfitStep::Number(number));
        self
    }

    /// Without its place.
    pub(crate) fn why(&self) -> &Error {
        &self.0.why
    }
}

/// With its place before it: `lines[2].price: invalid type: …`.
impl Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnfitPart { place, why } = &*self.0;
        for (at, step) in place.iter().rev().enumerate() {
            match step {
                UnfitStep::Number(number) => write!(f, "[{number}]")?,
                UnfitStep::Name(name) if at == 0 => f.write_str(name)?,
                UnfitStep::Name(name) => write!(f, ".{name}")?,
            }
        }
        let colon = if place.is_empty() { "" } else { ": " };
        write!(f, "{colon}{why}")
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    #[cold]
    fn custom<T: Display>(why: T) -> Self {
        Unfit::of(de::Error::custom(why))
    }

    #[cold]
    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Unfit::of(de::Error::invalid_type(found, wanted))
    }

    #[cold]
    fn invalid_value(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Unfit::of(de::Error::invalid_value(found, wanted))
    }
}
