//! The folder of what is given to others: it appears when everything in it is there.

use anyhow::Result;
use fs_err as fs;
use std::path::{Path, PathBuf};

/// Artefacts that are being made. Dropped before [`Folder::publish`] it leaves nothing.
#[derive(Debug)]
pub(super) struct Folder {
    /// Where artefacts are written.
    pub(super) draft: PathBuf,
    done: PathBuf,
}

impl Folder {
    /// An empty draft below the folder of builds. The artefacts of an earlier run go: what lies
    /// there after this run is of this run.
    ///
    /// # Errors
    /// What cannot be removed or made.
    pub(super) fn begin(target: &Path) -> Result<Folder> {
        let folder = Folder {
            draft: target.join("release-artefacts.part"),
            done: target.join("release-artefacts"),
        };
        for old in [&folder.draft, &folder.done] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        fs::create_dir_all(&folder.draft)?;
        Ok(folder)
    }

    /// Copies a file into the draft, under its own name; its bytes.
    ///
    /// # Errors
    /// What cannot be read or written.
    pub(super) fn take(&self, file: &Path) -> Result<u64> {
        let name = file.file_name().unwrap_or_default();
        Ok(fs::copy(file, self.draft.join(name))?)
    }

    /// The files in the draft, by name, each with its bytes.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn files(&self) -> Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.draft)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, entry.metadata()?.len()));
        }
        files.sort();
        Ok(files)
    }

    /// The draft becomes the folder of artefacts, whose path is returned.
    ///
    /// # Errors
    /// The system's reason.
    pub(super) fn publish(self) -> Result<PathBuf> {
        fs::rename(&self.draft, &self.done)?;
        Ok(self.done.clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // There is none after it was published.
        let _ = fs::remove_dir_all(&self.draft);
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;
    use std::fs;

    #[test]
    fn artefacts_appear_together_or_not_at_all() {
        let target = std::env::temp_dir().join(format!("artefacts-{}", std::process::id()));
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("a.txt"), "abc").unwrap();
        let folder = Folder::begin(&target).unwrap();
        folder.take(&target.join("a.txt")).unwrap();
        assert!(folder.take(&target.join("b.txt")).is_err());
        assert_eq!(folder.files().unwrap(), [("a.txt".to_owned(), 3)]);
        drop(folder);
        assert!(!target.join("release-artefacts.part").exists());
        assert!(!target.join("release-artefacts").exists());
        let folder = Folder::begin(&target).unwrap();
        folder.take(&target.join("a.txt")).unwrap();
        let done = folder.publish().unwrap();
        assert!(done.join("a.txt").is_file());
        // The next run begins with nothing.
        let next = Folder::begin(&target).unwrap();
        assert!(!done.exists());
        drop(next);
        fs::remove_dir_all(&target).unwrap();
    }
}
