//! Numbers that JSON does not have: infinite ones, and NaN. `serde_json` writes them as null,
//! without a word.

use serde::ser::{self, Serialize, Serializer};
use std::fmt::{self, Display};

/// Where a value holds a number that JSON does not have, and which: `points/3/x is NaN`.
pub(super) fn first_not_finite<T: Serialize + ?Sized>(value: &T) -> Option<String> {
    value.serialize(Walk).err().map(|found| found.0)
}

/// Walks through a value; its error is what it looks for.
#[derive(Clone, Copy)]
struct Walk;

/// The place, from the inside out, and the number.
#[derive(Debug)]
struct Found(String);

impl Found {
    /// The same, seen from one level further out.
    fn inside(self, at: impl Display) -> Self {
        Found(match self.0.strip_prefix(' ') {
            Some(said) => format!("{at} {said}"),
            None => format!("{at}/{}", self.0),
        })
    }
}

impl Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: Display>(said: T) -> Self {
        Found(format!(" {said}"))
    }
}

/// Walks through the parts of a value, which have numbers or names.
#[derive(Default)]
struct Parts {
    next: usize,
    key: String,
}

impl Parts {
    fn numbered<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        let at = self.next;
        self.next += 1;
        value.serialize(Walk).map_err(|found| found.inside(at))
    }
}

macro_rules! fine {
    ($($name:ident: $ty:ty),*) => {$(
        fn $name(self, _: $ty) -> Result<(), Found> {
            Ok(())
        }
    )*};
}

macro_rules! floats {
    ($($name:ident: $ty:ty),*) => {$(
        fn $name(self, number: $ty) -> Result<(), Found> {
            match number.is_finite() {
                true => Ok(()),
                false => Err(Found(format!(" is {number}"))),
            }
        }
    )*};
}

macro_rules! parts {
    ($($name:ident),*) => {$(
        type $name = Parts;
    )*};
}

impl Serializer for Walk {
    type Ok = ();
    type Error = Found;
    parts!(
        SerializeSeq,
        SerializeTuple,
        SerializeTupleStruct,
        SerializeTupleVariant,
        SerializeMap,
        SerializeStruct,
        SerializeStructVariant
    );

    fine!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128, serialize_char: char,
        serialize_str: &str, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    );
    floats!(serialize_f32: f32, serialize_f64: f64);

    fn serialize_none(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        value.serialize(self).map_err(|found| found.inside(variant))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts, Found> {
        Ok(Parts::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Parts, Found> {
        Ok(Parts::default())
    }
}

macro_rules! numbered {
    ($($kind:ident::$name:ident),*) => {$(
        impl ser::$kind for Parts {
            type Ok = ();
            type Error = Found;

            fn $name<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
                self.numbered(value)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        }
    )*};
}

numbered!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! named {
    ($($kind:ident),*) => {$(
        impl ser::$kind for Parts {
            type Ok = ();
            type Error = Found;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Found> {
                value.serialize(Walk).map_err(|found| found.inside(name))
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        }
    )*};
}

named!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Parts {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Found> {
        let key = serde_json::to_value(key).unwrap_or_default();
        self.key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Found> {
        value
            .serialize(Walk)
            .map_err(|found| found.inside(&self.key))
    }

    fn end(self) -> Result<(), Found> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Circle(f64),
        Line { from: (f32, f32) },
        Nothing,
    }

    #[derive(Serialize)]
    struct Drawing {
        shapes: Vec<Shape>,
        scales: BTreeMap<String, Option<f64>>,
    }

    #[test]
    fn the_place_of_the_number_is_named() {
        let drawing = |radius: f64, from: f32, scale: f64| Drawing {
            shapes: vec![
                Shape::Nothing,
                Shape::Circle(radius),
                Shape::Line { from: (0.0, from) },
            ],
            scales: [("x".to_owned(), None), ("y".to_owned(), Some(scale))].into(),
        };
        let said = |drawing: Drawing| first_not_finite(&drawing);
        assert_eq!(said(drawing(1.0, 1.0, 1.0)), None);
        let cases = [
            (drawing(f64::NAN, 1.0, 1.0), "shapes/1/Circle is NaN"),
            (drawing(1.0, f32::INFINITY, 1.0), "shapes/2/from/1 is inf"),
            (drawing(1.0, 1.0, f64::NEG_INFINITY), "scales/y is -inf"),
        ];
        for (drawing, wanted) in cases {
            assert_eq!(said(drawing).as_deref(), Some(wanted));
        }
        assert_eq!(first_not_finite(&f64::NAN).as_deref(), Some(" is NaN"));
    }
}
