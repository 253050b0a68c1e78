//! Names of a body that its type does not have.

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use std::fmt::{self, Display};

/// The names that a body of this type may have; `None` of a type that is no struct with names, or
/// that reads them otherwise, as with `flatten`.
pub(super) fn names_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    T::deserialize(AskedForNames)
        .err()
        .and_then(|names| names.0)
}

/// Has nothing to read: a type that begins to read a struct tells its names.
struct AskedForNames;

/// What a type has told.
#[derive(Debug)]
struct ToldNames(Option<&'static [&'static str]>);

impl Display for ToldNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing to read")
    }
}

impl std::error::Error for ToldNames {}

impl de::Error for ToldNames {
    fn custom<T: Display>(_: T) -> Self {
        ToldNames(None)
    }
}

impl<'de> Deserializer<'de> for AskedForNames {
    type Error = ToldNames;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ToldNames> {
        Err(ToldNames(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ToldNames> {
        Err(ToldNames(Some(fields)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{body_from_value, body_schema};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    #[derive(Debug, Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Power {
        left: f64,
        #[serde(alias = "starboard")]
        right: f64,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Open {
        left: f64,
        #[serde(flatten)]
        others: BTreeMap<String, f64>,
    }

    #[test]
    fn sem_g571_a_name_that_the_type_does_not_have_is_refused() {
        let fault = body_from_value::<Power>("set", json!({"lft": 1.0})).unwrap_err();
        assert!(fault.reason().contains("\"lft\""), "{fault}");
        assert!(fault.reason().contains("left, right"), "{fault}");
        assert_eq!(body_schema::<Power>()["additionalProperties"], false);
        // Of a newer caller, who has nothing to say by it.
        assert!(body_from_value::<Power>("set", json!({"left": 1.0, "up": null})).is_ok());
        let power = body_from_value::<Power>("set", json!({"left": 0.5, "starboard": 0.25}));
        let power = power.unwrap();
        assert_eq!((power.left, power.right), (0.5, 0.25));
    }

    #[test]
    fn types_that_take_any_name_have_them_all() {
        assert_eq!(names_of::<Open>(), None);
        assert_eq!(names_of::<Value>(), None);
        assert_eq!(names_of::<BTreeMap<String, u8>>(), None);
        let open = body_from_value::<Open>("set", json!({"left": 1.0, "up": 2.0})).unwrap();
        assert_eq!((open.left, open.others["up"]), (1.0, 2.0));
        assert_ne!(body_schema::<Open>()["additionalProperties"], false);
        let any = body_from_value::<Value>("set", json!({"up": 2.0})).unwrap();
        assert_eq!(any["up"], 2.0);
    }
}
