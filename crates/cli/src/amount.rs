//! How much of something the command line may ask for.

use clap::builder::{OsStringValueParser, RangedU64ValueParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::OptionError;

/// A number from 1.
pub(crate) fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1_000_000)
}

/// A path, which may be empty: a variable of the environment that is empty is none.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// A Python; the usual one where the path is empty.
pub(crate) fn python() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(|path| match path.is_empty() {
        true => PathBuf::from(PYTHON),
        false => PathBuf::from(path),
    })
}

/// The usual name of Python.
pub(crate) const PYTHON: &str = "python3";

/// A path that was given, and is not empty.
pub(crate) fn given(path: Option<&PathBuf>) -> Option<&Path> {
    let path = path.map(PathBuf::as_path);
    path.filter(|path| !path.as_os_str().is_empty())
}

/// Threads for each core of the machine, at most.
const THREADS_OF_A_CORE: usize = 256;

/// Checks that a process can have so many threads.
///
/// # Errors
/// More than a machine has use for: each takes memory, and the system has a limit.
pub(crate) fn check_threads(threads: Option<usize>) -> Result<(), OptionError> {
    match threads {
        Some(threads) if threads / THREADS_OF_A_CORE >= motet_sync::thread::cores() => {
            Err(OptionError::Value {
                option: "--threads",
                value: threads.to_string(),
                advice: "give less than 256 for each core of this machine",
            })
        }
        _ => Ok(()),
    }
}

/// A time in seconds, above 0.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "it must be a number of seconds")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be above 0".to_owned()),
    }
}

/// A number from 0.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number, 0 or more".to_owned()),
    }
}

/// A number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match not_negative(text) {
        Ok(number) if number > 0.0 => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// A share in percent, above 0.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    match number.parse() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("it must be a share in percent, above 0 and at most 100, as in 10%".to_owned()),
    }
}
