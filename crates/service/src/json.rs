//! Bodies and answers as JSON.

use crate::{Fault, FaultCode};
use motet_ports::ReplyPort;
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// Where an answer goes.
pub type To<T> = ReplyPort<Result<T, Fault>>;

/// An answer as JSON that is on its way.
pub type Answering = Pin<Box<dyn Future<Output = Result<Value, Fault>> + Send>>;

/// The JSON Schema (2020-12) of a type.
#[must_use]
pub fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    generator.into_root_schema_for::<T>().to_value()
}

/// A body as JSON.
///
/// # Errors
/// A fault that says why it does not fit.
pub fn to_value<T: Serialize>(body: &T) -> Result<Value, Fault> {
    serde_json::to_value(body).map_err(|error| {
        let reason = format!(
            "a {} does not fit JSON: {error}; send numbers that are finite, and maps with names as keys",
            std::any::type_name::<T>()
        );
        Fault::new(FaultCode::MessageNotSupported, reason)
    })
}

/// A body of JSON.
///
/// # Errors
/// A fault that says where it does not fit.
pub fn from_value<T: DeserializeOwned>(operation: &str, body: Value) -> Result<T, Fault> {
    serde_json::from_value(body).map_err(|error| {
        let reason = format!(
            "the body of {operation} is no {}: {error}; its schema is in the answer of Lookup",
            std::any::type_name::<T>()
        );
        Fault::new(FaultCode::MessageNotSupported, reason)
    })
}
