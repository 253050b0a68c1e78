//! A matrix of dissimilarities that stays in its file.

use std::path::Path;

use memmap2::Mmap;
use motet_mining::{DataError, Dissimilarities, Floats};

use crate::error::CliError;
use crate::npy;
use crate::read;

/// The numbers of a mapped file.
struct Numbers {
    map: Mmap,
    start: usize,
}

impl AsRef<[u8]> for Numbers {
    fn as_ref(&self) -> &[u8] {
        &self.map[self.start..]
    }
}

/// The matrix of a `.npy` file, which is mapped and not read.
///
/// # Errors
/// A file that cannot be mapped, that is no `.npy` matrix, or that holds no dissimilarities.
pub(crate) fn pairs(file: &Path) -> Result<Dissimilarities, CliError> {
    let bad = |what: &str| CliError::Data(format!("{}: {what}", file.display()));
    if !read::is_file(file) {
        if file.as_os_str() != "-" {
            // A file that is not there is named so.
            read::open_file(file)?;
        }
        return Err(bad("--mapped wants a file on a disk: leave it out"));
    }
    let opened = read::open_file(file)?;
    // SAFETY: the map is read as bytes, of which every value is valid. A file that another program
    // writes to meanwhile gives other bytes, which the result then depends on. One that it cuts
    // short ends this program by a signal. The help of --mapped says that it must not change.
    let map = unsafe { Mmap::map(&opened) };
    let map =
        map.map_err(|error| bad(&format!("it cannot be mapped: {error}: leave out --mapped")))?;
    if !map.starts_with(npy::MAGIC) {
        return Err(bad(
            "--mapped wants .npy that is not packed: unpack it, or leave --mapped out",
        ));
    }
    let layout = npy::layout(&map).map_err(|what| bad(&format!("no .npy matrix: {what}")))?;
    if layout.rows != layout.columns {
        return Err(bad(&format!(
            "{} rows of {} columns are no dissimilarities of pairs: give a square matrix",
            layout.rows, layout.columns
        )));
    }
    let floats = match layout.size {
        4 => Floats::Single,
        _ => Floats::Double,
    };
    let start = layout.start;
    let pairs = Dissimilarities::mapped(Numbers { map, start }, floats, layout.rows);
    pairs.map_err(|error| {
        let advice = match error {
            DataError::Asymmetric { .. } => "; without --mapped the means are taken",
            _ => "",
        };
        bad(&format!("{error} (rows and columns from 0){advice}"))
    })
}
