//! The part of a rank, of any type: how it gets to the others is compiled once for all types.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use motet_comm::Value;
use motet_values::wire;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

use crate::error::CliError;

/// What a rank has found.
#[derive(Clone)]
pub(crate) enum AnyPart {
    /// Of a rank of this process, and what makes bytes of it for another one.
    Here(Arc<dyn Any + Send + Sync>, EncodePart),
    /// The bytes that have come from another process.
    Came(Vec<u8>),
}

type EncodePart = fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>, String>;

impl AnyPart {
    pub(crate) fn new<T: Value + Sync>(part: T) -> AnyPart {
        AnyPart::Here(Arc::new(part), |part| {
            let part = part.downcast_ref::<T>().expect("the part is a T");
            let mut bytes = Vec::new();
            wire::encode(part, &mut bytes).map(|()| bytes)
        })
    }

    /// Parts of one type.
    ///
    /// # Errors
    /// [`CliError::Run`] when one is no `T`.
    pub(crate) fn all<T: Value + Clone + Sync>(parts: Vec<AnyPart>) -> Result<Vec<T>, CliError> {
        parts.into_iter().map(AnyPart::one).collect()
    }

    fn one<T: Value + Clone + Sync>(self) -> Result<T, CliError> {
        let part = match self {
            AnyPart::Here(part, _) => match part.downcast() {
                Ok(part) => Ok(Arc::unwrap_or_clone(part)),
                Err(_) => Err("it is of another type".to_owned()),
            },
            AnyPart::Came(bytes) => wire::decode(&bytes),
        };
        part.map_err(|why| CliError::Run(format!("the part of a rank cannot be read: {why}")))
    }
}

impl Serialize for AnyPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            AnyPart::Here(part, encode) => {
                let bytes = encode(&**part).map_err(ser::Error::custom)?;
                serializer.serialize_bytes(&bytes)
            }
            AnyPart::Came(bytes) => serializer.serialize_bytes(bytes),
        }
    }
}

impl<'de> Deserialize<'de> for AnyPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyPart, D::Error> {
        deserializer.deserialize_byte_buf(PartBytes)
    }
}

struct PartBytes;

impl Visitor<'_> for PartBytes {
    type Value = AnyPart;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("the bytes of a part")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<AnyPart, E> {
        Ok(AnyPart::Came(bytes.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Part = (Vec<f64>, Option<String>);

    #[test]
    fn parts_come_as_they_were_from_ranks_here_and_elsewhere() {
        let part: Part = (vec![0.5, -0.0], Some("one".to_owned()));
        let mut bytes = Vec::new();
        wire::encode(&AnyPart::new(part.clone()), &mut bytes).unwrap();
        let came: AnyPart = wire::decode(&bytes).unwrap();
        assert!(matches!(came, AnyPart::Came(_)));
        let mut again = Vec::new();
        wire::encode(&came, &mut again).unwrap();
        assert_eq!(again, bytes);
        let all = AnyPart::all::<Part>(vec![AnyPart::new(part.clone()), came]);
        assert_eq!(all.unwrap(), [part.clone(), part]);
    }

    #[test]
    fn a_part_of_another_type_is_an_error() {
        for part in [AnyPart::new(7_u64), AnyPart::Came(vec![7])] {
            let read = AnyPart::all::<Part>(vec![part]);
            assert!(matches!(read, Err(CliError::Run(_))));
        }
    }
}
