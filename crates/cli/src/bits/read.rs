//! Fingerprints from a file.

use std::io::Read;
use std::path::Path;

use motet_mining::Bits;

use crate::error::{CliError, OptionError};
use crate::npy;
use crate::read::{self, InputText};

/// Reads `.npy` of bytes, `.fps`, or lines of the digits 0 and 1, packed by gzip or not.
pub(super) fn read(file: &Path, width: Option<usize>) -> Result<Bits, CliError> {
    let mut source = InputText::open(file)?;
    let mut bytes = Vec::new();
    let got = source.text.read_to_end(&mut bytes);
    got.map_err(|e| read::fault(&source.label, source.packed, e))?;
    let bad = |what: String| CliError::Data(format!("{}: {what}", source.label));
    if bytes.starts_with(npy::MAGIC) {
        let (columns, start) = npy::bytes(&bytes).map_err(|e| bad(format!("no .npy bits: {e}")))?;
        let width = width.unwrap_or(8 * columns);
        let bits = Bits::from_bytes(&bytes[start..], columns, width);
        return bits.map_err(|e| bad(format!("{e} (rows and bits from 0)")));
    }
    if width.is_some() {
        return Err(CliError::Options(OptionError::Conflict {
            option: "--width",
            other: "a text, which says how wide it is",
            advice: "leave it out",
        }));
    }
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| {
        let what = "it is neither .npy nor a text: give .fps, or lines of 0 and 1";
        bad(what.to_owned())
    })?;
    Bits::from_text(text).map_err(|error| bad(error.to_string()))
}
