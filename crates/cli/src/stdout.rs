//! Standard output, where results go and nothing else.

use std::io::{self, Write};

use crate::error::{CliError, OutputError};

/// Writes all of `write` to standard output.
///
/// # Errors
/// [`OutputError::Closed`] when the reader went away, as in `motet … | head`, which is no fault;
/// [`OutputError::Stdout`] when the output cannot be written for another reason.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    let mut to = io::BufWriter::new(io::stdout().lock());
    write(&mut to).and_then(|()| to.flush()).map_err(lost)
}

/// What it means that standard output takes no more.
pub(crate) fn lost(source: io::Error) -> CliError {
    match source.kind() {
        io::ErrorKind::BrokenPipe => OutputError::Closed.into(),
        _ => OutputError::Stdout { source }.into(),
    }
}
