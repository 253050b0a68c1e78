//! Standard error, where everything but results goes.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Says something in a line of its own. Where nobody reads it, nothing is lost: unlike `eprintln!`
/// it does not panic.
pub(crate) fn tell(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "motet: {text}");
}
