//! A store in a folder: a file of JSON for each service.

use crate::{Fault, Store};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A store in a folder: a file of JSON for each service, to be read and written by hand while the
/// node is down. A file is written beside the old one, then takes its place.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// A fault that names the folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Fault> {
        let path = path.as_ref().to_owned();
        fs::create_dir_all(&path).map_err(|error| failed(&path, "made", &error))?;
        Ok(Folder(path))
    }

    fn file(&self, path: &str) -> PathBuf {
        // Each path has a name of its own: two digits follow a %, and six the u behind one.
        let mut name = String::new();
        for letter in path.strip_prefix('/').unwrap_or(path).chars() {
            match letter {
                // Not capital letters: many file systems take them for small ones.
                'a'..='z' | '0'..='9' | '-' | '_' => name.push(letter),
                '\0'..='\u{ff}' => name.push_str(&format!("%{:02x}", u32::from(letter))),
                other => name.push_str(&format!("%u{:06x}", u32::from(other))),
            }
        }
        self.0.join(name + ".json")
    }
}

impl Store for Folder {
    fn load(&self, path: &str) -> Result<Option<Vec<u8>>, Fault> {
        let file = self.file(path);
        match fs::read(&file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&file, "read", &error)),
        }
    }

    fn commit(&self, entries: &[(String, Vec<u8>)]) -> Result<(), Fault> {
        for (path, bytes) in entries {
            let file = self.file(path);
            let new = file.with_extension("new");
            write(&new, bytes)
                .and_then(|()| fs::rename(&new, &file))
                .map_err(|error| failed(&file, "written", &error))?;
        }
        // The new names are in the folder, which is a file too.
        sync_folder(&self.0).map_err(|error| failed(&self.0, "written", &error))
    }
}

/// Waits until the names in a folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync files alone.
        Err(why) if matches!(why.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Fault {
    Fault::failed(format!(
        "the store {} cannot be {what}: {error}",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_path_has_a_file_of_its_own() {
        let folder = Folder(PathBuf::from("states"));
        let paths = [
            "/a",
            "//a",
            "/a/",
            "/a//",
            "/a/0",
            "/a+0",
            "/a\u{2b0}",
            "/a\u{2}f",
            "/a%2f",
            "/a.json",
            "/A",
            "/%41",
        ];
        let file = |path: &&str| folder.file(path).display().to_string().to_lowercase();
        let files: BTreeSet<String> = paths.iter().map(file).collect();
        assert_eq!(files.len(), paths.len(), "{files:?}");
        assert_eq!(
            folder.file("/shop/2"),
            PathBuf::from("states/shop%2f2.json")
        );
    }
}
