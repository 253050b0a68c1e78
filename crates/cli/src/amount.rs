//! How much of something the command line may ask for.

use clap::builder::RangedU64ValueParser;
use std::time::Duration;

/// A number from 1.
pub(crate) fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1_000_000)
}

/// A time in seconds, above 0.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().map_err(|_| "it must be a number of seconds")?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be above 0".to_owned()),
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
