//! The names of the parts of an object, as they are read.

use super::unfit::Unfit;
use serde::de::value::StrDeserializer;
use serde::de::{self, Deserializer, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Number;
use std::str::FromStr;

/// The name of a part. Where a number is wanted, or a truth value, it is read as one.
pub(super) struct LocatedKey<'a>(pub(super) &'a str);

macro_rules! numeric_keys {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
            visit_number(&self.parse()?, visitor)
        }
    )*};
}

impl LocatedKey<'_> {
    fn parse<N: FromStr>(&self) -> Result<N, Unfit> {
        // As JSON has numbers: no sign but minus, and no zero before another digit.
        let digits = self.0.strip_prefix('-').unwrap_or(self.0).as_bytes();
        let is_number = match digits {
            [b'0', second, ..] => !second.is_ascii_digit(),
            [first, ..] => first.is_ascii_digit(),
            [] => false,
        };
        let number = is_number.then(|| self.0.parse().ok());
        let why = "invalid value: expected key to be a number in quotes";
        number.flatten().ok_or_else(|| de::Error::custom(why))
    }
}

impl<'de> Deserializer<'de> for LocatedKey<'_> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_str(self.0)
    }

    numeric_keys! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f32 deserialize_f64
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_i128(self.parse()?)
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_u128(self.parse()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(de::Error::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let text: StrDeserializer<'_, Unfit> = self.0.into_deserializer();
        text.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}

pub(super) fn visit_number<'de, V: Visitor<'de>>(
    number: &Number,
    visitor: V,
) -> Result<V::Value, Unfit> {
    if let Some(number) = number.as_u64() {
        visitor.visit_u64(number)
    } else if let Some(number) = number.as_i64() {
        visitor.visit_i64(number)
    } else {
        visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
    }
}
