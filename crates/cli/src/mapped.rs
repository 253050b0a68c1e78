//! A matrix of dissimilarities that stays in its file.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

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

/// A file that is mapped, with its length and time before that.
#[derive(Debug)]
pub(crate) struct MappedFile {
    name: String,
    file: File,
    before: Option<(u64, SystemTime)>,
}

impl MappedFile {
    fn new(path: &Path, file: File) -> MappedFile {
        MappedFile {
            name: path.display().to_string(),
            before: written(&file),
            file,
        }
    }

    /// Checks that nobody has written to the file since.
    ///
    /// # Errors
    /// It has another length or another time.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        match written(&self.file) == self.before {
            true => Ok(()),
            false => Err(CliError::Data(format!(
                "{} was written to during the run: run again, or leave out --mapped",
                self.name
            ))),
        }
    }
}

/// The length of a file, and when it was written last.
fn written(file: &File) -> Option<(u64, SystemTime)> {
    let data = file.metadata().ok()?;
    Some((data.len(), data.modified().ok()?))
}

/// The matrix of a `.npy` file, which is mapped and not read; and the file.
///
/// # Errors
/// A file that cannot be mapped, that is no `.npy` matrix, or that holds no dissimilarities.
pub(crate) fn pairs(file: &Path) -> Result<(Dissimilarities, MappedFile), CliError> {
    let bad = |what: &str| CliError::Data(format!("{}: {what}", file.display()));
    if !read::is_file(file) {
        if file.as_os_str() != "-" {
            // A file that is not there is named so.
            read::open_file(file)?;
        }
        return Err(bad("--mapped wants a file on a disk: leave it out"));
    }
    let opened = MappedFile::new(file, read::open_file(file)?);
    // SAFETY: the map is read as bytes, of which every value is valid. A file that another program
    // writes to meanwhile gives other bytes; the run ends in an error then. One that it cuts short
    // ends this program by a signal. The help of --mapped says so.
    let map = unsafe { Mmap::map(&opened.file) };
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
    let pairs = pairs.map_err(|error| {
        let advice = match error {
            DataError::Asymmetric { .. } => "; without --mapped the means are taken",
            _ => "",
        };
        bad(&format!("{error} (rows and columns from 0){advice}"))
    })?;
    Ok((pairs, opened))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sem_g157_a_file_that_has_changed_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["d.npy", "other.npy"].map(|name| folder.path().join(name));
        let mut bytes = Vec::new();
        npy::write(&mut bytes, 2, &[0.0, 1.0, 1.0, 0.0]).unwrap();
        fs::write(&path, &bytes).unwrap();
        let (matrix, mapped) = pairs(&path).unwrap();
        assert_eq!(matrix.get(0, 1), 1.0);
        mapped.check().unwrap();
        // Another file of the same name is not the one that is mapped.
        fs::write(&other, &bytes).unwrap();
        fs::rename(&other, &path).unwrap();
        mapped.check().unwrap();
        let (_, mapped) = pairs(&path).unwrap();
        let writer = File::options().write(true).open(&path).unwrap();
        writer.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let told = mapped.check().unwrap_err().to_string();
        assert!(
            told.contains("d.npy was written to during the run"),
            "{told}"
        );
        let (_, mapped) = pairs(&path).unwrap();
        writer.set_len(bytes.len() as u64 + 4).unwrap();
        writer.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(mapped.check().is_err());
    }
}
