//! How many of something the command line may ask for.

use clap::builder::RangedU64ValueParser;

/// A number from 1.
pub(crate) fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1_000_000)
}
