//! Bodies and answers as JSON.
//!
//! - `json/located.rs`, `json/key.rs`: how bodies are read;
//! - `json/unfit.rs`: where one does not fit; `json/names.rs`: the names that a type has;
//! - `json/finite.rs`: numbers that JSON does not have;
//! - `json/same.rs`: whether two values say the same.

mod finite;
mod key;
mod located;
mod names;
mod same;
mod unfit;

pub(crate) use located::read;
pub(crate) use same::is_same;
pub(crate) use unfit::Unfit;

use crate::{Fault, FaultCode};
use finite::first_not_finite;
use motet_ports::ReplyPort;
use names::names_of;
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

/// The JSON Schema of the body of an operation. It says when other names than those of the type are
/// refused.
#[must_use]
pub fn body_schema<T: JsonSchema + DeserializeOwned>() -> Value {
    let mut schema = schema::<T>();
    if schema["type"] == "object"
        && names_of::<T>().is_some()
        && let Some(parts) = schema.as_object_mut()
    {
        parts
            .entry("additionalProperties")
            .or_insert(Value::Bool(false));
    }
    schema
}

/// A body as JSON.
///
/// # Errors
/// A fault that says why it does not fit.
pub fn to_value<T: Serialize>(body: &T) -> Result<Value, Fault> {
    let value = serde_json::to_value(body).map_err(|error| no_names::<T>(&error))?;
    // A number that is not finite has become null.
    match has_null(&value) {
        true => finite(body).map(|()| value),
        false => Ok(value),
    }
}

/// A body as the text of JSON, of which no value is made.
///
/// # Errors
/// As [`to_value`].
pub(crate) fn to_text<T: Serialize>(body: &T) -> Result<Vec<u8>, Fault> {
    let text = serde_json::to_vec(body).map_err(|error| no_names::<T>(&error))?;
    // So have they here; the word may be part of a text, too.
    match text.windows(4).any(|word| word == b"null") {
        true => finite(body).map(|()| text),
        false => Ok(text),
    }
}

fn no_names<T>(error: &serde_json::Error) -> Fault {
    let name = std::any::type_name::<T>();
    let reason = format!("a {name} does not fit JSON: {error}; send maps with names as keys");
    Fault::new(FaultCode::MessageNotSupported, reason)
}

/// Refuses a body with a number that JSON does not have.
fn finite<T: Serialize>(body: &T) -> Result<(), Fault> {
    let Some(found) = first_not_finite(body) else {
        return Ok(());
    };
    let name = std::any::type_name::<T>();
    let found = found.trim_start();
    let reason = format!("a {name} does not fit JSON: {found}; send numbers that are finite");
    Err(Fault::new(FaultCode::MessageNotSupported, reason))
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A body of JSON.
///
/// # Errors
/// A fault that says where it does not fit.
pub fn from_value<T: DeserializeOwned>(operation: &str, body: Value) -> Result<T, Fault> {
    read(body).map_err(|unfit| unfit_fault(operation, &unfit))
}

/// The body of an operation. Names that its type does not have are refused: left out, they would
/// be errors in writing that nobody is told. One that is null says nothing: newer callers write it.
///
/// # Errors
/// As [`from_value`]; the fault names the name, and those of the type.
pub(crate) fn body_from_value<T: DeserializeOwned>(
    operation: &str,
    body: Value,
) -> Result<T, Fault> {
    if let (Value::Object(parts), Some(names)) = (&body, names_of::<T>())
        && let Some((other, _)) =
            (parts.iter()).find(|(name, value)| !value.is_null() && !names.contains(&name.as_str()))
    {
        return Err(other_name(operation, other, names));
    }
    from_value(operation, body)
}

#[cold]
fn other_name(operation: &str, other: &str, names: &[&str]) -> Fault {
    let names = match names {
        [] => "no names".to_owned(),
        names => names.join(", "),
    };
    let reason =
        format!("the body of {operation} has the name {other:?}, and {operation} takes {names}");
    Fault::new(FaultCode::MessageNotSupported, reason)
}

/// As the fault of a body.
#[cold]
pub(crate) fn unfit_fault(operation: &str, unfit: &Unfit) -> Fault {
    let reason = format!(
        "the body of {operation} does not fit: {unfit}; its schema is in the answer of Lookup"
    );
    Fault::new(FaultCode::MessageNotSupported, reason)
}
