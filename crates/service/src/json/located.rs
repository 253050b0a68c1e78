//! Reads a body of JSON and keeps account of the place where it does not fit.
//!
//! As `serde_json::from_value`, word for word, but for names that are to be numbers. To tell a
//! place there takes code of its own that reads each type once more.

use super::key::{LocatedKey, visit_number};
use super::unfit::Unfit;
use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer};
use serde::de::{Unexpected, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// A body of JSON.
///
/// # Errors
/// Where it does not fit, and why.
pub(crate) fn read<T: DeserializeOwned>(body: Value) -> Result<T, Unfit> {
    T::deserialize(Located(body))
}

/// A body, or a part of one.
struct Located(Value);

/// Reads a list to its end.
fn list<'de, V: Visitor<'de>>(items: Vec<Value>, visitor: V) -> Result<V::Value, Unfit> {
    let length = items.len();
    let mut items = LocatedItems {
        rest: items.into_iter(),
        at: 0,
    };
    let read = visitor.visit_seq(&mut items)?;
    match items.rest.len() {
        0 => Ok(read),
        _ => Err(de::Error::invalid_length(
            length,
            &"fewer elements in array",
        )),
    }
}

/// Reads an object to its end.
fn object<'de, V: Visitor<'de>>(parts: Map<String, Value>, v: V) -> Result<V::Value, Unfit> {
    let length = parts.len();
    let mut parts = LocatedFields {
        rest: parts.into_iter(),
        at: String::new(),
        value: Value::Null,
    };
    let read = v.visit_map(&mut parts)?;
    match parts.rest.len() {
        0 => Ok(read),
        _ => Err(de::Error::invalid_length(length, &"fewer elements in map")),
    }
}

macro_rules! numbers {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
            match &self.0 {
                Value::Number(found) => visit_number(found, visitor),
                other => Err(Unfit::other_type(other, &visitor)),
            }
        }
    )*};
}

macro_rules! texts {
    ($($name:ident)*) => {$(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
            match self.0 {
                Value::String(text) => visitor.visit_string(text),
                other => Err(Unfit::other_type(&other, &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Located {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(is) => visitor.visit_bool(is),
            Value::Number(found) => visit_number(&found, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => list(items, visitor),
            Value::Object(parts) => object(parts, visitor),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Bool(is) => visitor.visit_bool(is),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => list(items, visitor),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        // No type of a program has such a name.
        if name.starts_with("$serde_json::") {
            let own = self.0.deserialize_newtype_struct(name, OwnType(visitor));
            return own.map_err(Unfit::of);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Array(items) => list(items, visitor),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, v: V) -> Result<V::Value, Unfit> {
        self.deserialize_seq(v)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Object(parts) => object(parts, visitor),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Array(items) => list(items, visitor),
            Value::Object(parts) => object(parts, visitor),
            other => Err(Unfit::other_type(&other, &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let variant = match self.0 {
            Value::String(name) => LocatedVariant { name, value: None },
            Value::Object(parts) => {
                let mut parts = parts.into_iter();
                let (Some((name, value)), None) = (parts.next(), parts.next()) else {
                    return Err(Unfit::no_key());
                };
                let value = Some(value);
                LocatedVariant { name, value }
            }
            other => return Err(Unfit::other_type(&other, &"string or map")),
        };
        visitor.visit_enum(variant)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_unit()
    }
}

/// A type of serde_json itself, as its raw value: that knows what it gets. Nothing else goes there,
/// so that no type of a program is read by code of serde_json, too.
struct OwnType<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for OwnType<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, parts: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(parts)
    }
}

/// The items of a list, from the first.
struct LocatedItems {
    rest: std::vec::IntoIter<Value>,
    at: usize,
}

impl<'de> de::SeqAccess<'de> for LocatedItems {
    type Error = Unfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unfit> {
        let Some(item) = self.rest.next() else {
            return Ok(None);
        };
        let at = self.at;
        self.at += 1;
        let read = seed.deserialize(Located(item));
        read.map(Some).map_err(|unfit| unfit.in_item(at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The parts of an object, from the first.
struct LocatedFields {
    rest: serde_json::map::IntoIter,
    /// The name of the last.
    at: String,
    /// Its value, until that is read.
    value: Value,
}

impl<'de> de::MapAccess<'de> for LocatedFields {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Unfit> {
        let Some((name, value)) = self.rest.next() else {
            return Ok(None);
        };
        (self.at, self.value) = (name, value);
        let read = seed.deserialize(LocatedKey(&self.at));
        read.map(Some).map_err(|unfit| unfit.in_part(&self.at))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unfit> {
        let value = self.value.take();
        let read = seed.deserialize(Located(value));
        read.map_err(|unfit| unfit.in_part(&self.at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A variant of an enum, and what it holds.
struct LocatedVariant {
    name: String,
    value: Option<Value>,
}

impl<'de> de::EnumAccess<'de> for LocatedVariant {
    type Error = Unfit;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Unfit> {
        let text: StrDeserializer<'_, Unfit> = self.name.as_str().into_deserializer();
        Ok((seed.deserialize(text)?, self))
    }
}

impl LocatedVariant {
    /// The value is not what the variant holds.
    #[cold]
    fn other(value: Option<&Value>, wanted: &'static str) -> Unfit {
        match value {
            Some(value) => Unfit::other_type(value, &wanted),
            None => de::Error::invalid_type(Unexpected::UnitVariant, &wanted),
        }
    }
}

impl<'de> de::VariantAccess<'de> for LocatedVariant {
    type Error = Unfit;

    fn unit_variant(self) -> Result<(), Unfit> {
        let read = self.value.map_or(Ok(()), read);
        read.map_err(|unfit| unfit.in_part(&self.name))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unfit> {
        let read = match self.value {
            Some(value) => seed.deserialize(Located(value)),
            None => Err(LocatedVariant::other(None, "newtype variant")),
        };
        read.map_err(|unfit| unfit.in_part(&self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, v: V) -> Result<V::Value, Unfit> {
        let read = match self.value {
            Some(Value::Array(items)) if items.is_empty() => v.visit_unit(),
            Some(Value::Array(items)) => list(items, v),
            other => Err(LocatedVariant::other(other.as_ref(), "tuple variant")),
        };
        read.map_err(|unfit| unfit.in_part(&self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let read = match self.value {
            Some(Value::Object(parts)) => object(parts, visitor),
            other => Err(LocatedVariant::other(other.as_ref(), "struct variant")),
        };
        read.map_err(|unfit| unfit.in_part(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is printed")]
    struct Whole {
        lines: Vec<Line>,
        by_number: BTreeMap<u8, bool>,
        by_truth: BTreeMap<bool, String>,
        kind: Kind,
        also: Option<Kind>,
        pair: (i8, f32),
        nothing: (),
        letter: char,
        #[serde(default)]
        any: Value,
        far: BTreeMap<i128, Line>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is printed")]
    struct Line {
        price: u16,
    }

    #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Kind {
        Plain,
        New(u8),
        Two(u8, u8),
        Named { size: u8 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "as")]
    #[expect(dead_code, reason = "it is printed")]
    enum Tagged {
        One { n: u8 },
    }

    fn whole() -> Value {
        json!({
            "lines": [{"price": 1}, [2]], "by_number": {"7": true}, "by_truth": {"false": "x"},
            "kind": "Plain", "also": {"New": 3}, "pair": [-1, 2], "nothing": null, "letter": "z",
            "any": {"a": [1, -1, 0.5, "b", null, {"c": false}]},
            "far": {"-170141183460469231731687303715884105728": {"price": 1}},
        })
    }

    /// What comes of it here is what comes of it there.
    fn same<T: DeserializeOwned + Debug>(body: &Value) -> Option<String> {
        let there = serde_json::from_value::<T>(body.clone());
        match (read::<T>(body.clone()), there) {
            (Ok(here), Ok(there)) => {
                assert_eq!(format!("{here:?}"), format!("{there:?}"));
                None
            }
            (Err(here), Err(there)) => {
                // Of a name that is to be a number it says at which of its letters.
                let (here_why, there) = (here.why().to_string(), there.to_string());
                let same = there.split(" at line").next() == Some(here_why.as_str());
                assert!(same, "{body}: {here_why}; {there}");
                Some(here.to_string())
            }
            (here, there) => panic!("{body}: {here:?}, {there:?}"),
        }
    }

    #[test]
    fn bodies_are_read_as_serde_json_reads_them() {
        assert_eq!(same::<Whole>(&whole()), None);
        let others = [
            json!(null),
            json!(true),
            json!(7),
            json!(-7),
            json!(300),
            json!(0.5),
            json!("Plain"),
            json!("x"),
            json!([]),
            json!([1]),
            json!([1, 2, 3]),
            json!({}),
            json!({"New": 1}),
            json!({"New": "x"}),
            json!({"Two": []}),
            json!({"Two": [1, 2]}),
            json!({"Two": [1, 2, 3]}),
            json!({"Named": {"size": 1}}),
            json!({"Named": 1}),
            json!({"Plain": null}),
            json!({"Plain": 1}),
            json!({"Plain": null, "New": 1}),
            json!({"size": 1}),
            json!({"price": 1, "more": [1]}),
            json!({"1": 1}),
            json!({"x": true}),
            json!({"300": true}),
            json!({"as": "One", "n": 300}),
        ];
        for name in whole().as_object().unwrap().keys() {
            for other in &others {
                let mut body = whole();
                body[name] = other.clone();
                same::<Whole>(&body);
            }
        }
        for other in &others {
            same::<Kind>(other);
            same::<Tagged>(other);
            same::<Line>(other);
            same::<BTreeMap<Kind, Value>>(other);
            same::<Vec<Option<u8>>>(other);
            same::<String>(other);
        }
    }

    #[derive(Debug, Deserialize)]
    struct Raw {
        any: Box<RawValue>,
        #[serde(default)]
        more: Vec<Option<Box<RawValue>>>,
    }

    #[test]
    fn raw_values_are_the_text_of_what_is_there() {
        for any in [json!(null), json!(-7), json!("x"), json!({"a": [0.5, {}]})] {
            let body = json!({"any": any, "more": [null, any, [any]]});
            assert_eq!(same::<Raw>(&body), None);
            let read = read::<Raw>(body.clone()).unwrap();
            let texts = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap();
            assert_eq!(texts(&read.any), any);
            let last = read.more[2].as_ref().unwrap();
            assert_eq!(texts(last), json!([any]));
        }
        assert!(same::<Raw>(&json!({})).is_some());
    }

    #[test]
    fn names_are_numbers_as_json_has_them() {
        for name in [
            "0", "-0", "7", "-70", "007", "-07", "+7", "-", "", " 7", "7 ", "0x7",
        ] {
            let body = json!({ name: 1 });
            let fits = |here: bool, there: bool| assert_eq!(here, there, "{name:?}");
            fits(
                read::<BTreeMap<i128, u8>>(body.clone()).is_ok(),
                serde_json::from_value::<BTreeMap<i128, u8>>(body.clone()).is_ok(),
            );
            fits(
                read::<BTreeMap<i64, u8>>(body.clone()).is_ok(),
                serde_json::from_value::<BTreeMap<i64, u8>>(body).is_ok(),
            );
        }
    }

    #[test]
    fn what_does_not_fit_has_its_place() {
        let at = |pointer: &str, other: Value| {
            let mut body = whole();
            *body.pointer_mut(pointer).unwrap() = other;
            let unfit = same::<Whole>(&body).unwrap();
            unfit.split(": ").next().unwrap().to_owned()
        };
        assert_eq!(at("/lines/0/price", json!("x")), "lines[0].price");
        assert_eq!(at("/lines/1", json!({})), "lines[1]");
        assert_eq!(at("/lines", json!(0)), "lines");
        assert_eq!(at("/by_number/7", json!(0)), "by_number.7");
        assert_eq!(at("/by_number", json!({"x": true})), "by_number.x");
        assert_eq!(at("/also/New", json!(300)), "also.New");
        assert_eq!(at("/kind", json!({"Two": [1, "x"]})), "kind.Two[1]");
        assert_eq!(at("/kind", json!("Other")), "kind");
        assert_eq!(read::<u8>(json!("x")).unwrap_err().to_string(), {
            let why = serde_json::from_value::<u8>(json!("x")).unwrap_err();
            why.to_string()
        });
    }
}
