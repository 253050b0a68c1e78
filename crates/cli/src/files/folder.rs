//! A folder into which several files are written all together or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

use super::pipe;
use super::place::{OutputPlace, parent_of};
use crate::error::OutputError;

/// What writes the bytes of a file.
pub(crate) type ByteWriter<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

/// A file to write.
pub(crate) struct Content<'a> {
    /// Its path below the folder.
    pub(crate) name: &'a str,
    /// Writes its bytes.
    pub(crate) write: ByteWriter<'a>,
}

/// The folder for the results.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    path: PathBuf,
    /// Waits until a file is on the disk.
    sync: fn(&File) -> io::Result<()>,
}

impl ResultsFolder {
    /// Checks, without leaving a trace, that files called `names` can be written into `path`. So a
    /// long run does not end in an error that was certain from the start.
    ///
    /// # Errors
    /// A file where a folder should be, a folder where a file should be, no right to write.
    pub(crate) fn check(path: &Path, names: &[&str]) -> Result<ResultsFolder, OutputError> {
        let folder = ResultsFolder {
            path: path.to_owned(),
            sync: File::sync_all,
        };
        let targets = names.iter().map(|name| path.join(name));
        let places: Vec<Result<(PathBuf, OutputPlace), OutputError>> = targets
            .map(|target| OutputPlace::of(&target).map(|place| (target, place)))
            .collect();
        let mut places_there = places.iter();
        let all_pipes = places_there.all(|place| matches!(place, Ok((_, OutputPlace::Pipe))));
        // A device takes what is written also where its folder takes no files.
        if names.is_empty() || !all_pipes {
            writable(path).map_err(|problem| problem.below(path))?;
        }
        for place in places {
            let (target, place) = place?;
            let OutputPlace::File(file) = place else {
                continue;
            };
            if file != target {
                probe(parent_of(&file)).map_err(|source| OutputError::Write {
                    path: target,
                    source,
                })?;
            }
        }
        Ok(folder)
    }

    /// Checks that none of these files is the one that is read.
    ///
    /// # Errors
    /// [`OutputError::Input`].
    pub(crate) fn not_overwriting(self, input: &Path, names: &[&str]) -> Result<Self, OutputError> {
        // What is not there, as standard input, is no file that could be written over.
        let Ok(read) = input
            .canonicalize()
            .and_then(|read| match crate::read::is_file(input) {
                true => Ok(read),
                false => Err(io::ErrorKind::NotFound.into()),
            })
        else {
            return Ok(self);
        };
        let mut targets = names.iter().map(|name| self.path.join(name));
        match targets.find(|target| target.canonicalize().is_ok_and(|target| target == read)) {
            Some(path) => Err(OutputError::Input { path }),
            None => Ok(self),
        }
    }

    /// Checks that none of these files is one of those that are read.
    ///
    /// # Errors
    /// [`OutputError::Input`].
    pub(crate) fn apart_from<P: AsRef<Path>>(
        self,
        mut inputs: impl Iterator<Item = P>,
        names: &[&str],
    ) -> Result<Self, OutputError> {
        inputs.try_fold(self, |folder, input| {
            folder.not_overwriting(input.as_ref(), names)
        })
    }

    /// Writes the files beside their places, then renames them all. After an error, or when `stop`
    /// says so before the first is renamed, the folder is as it was before.
    ///
    /// Returns whether the files were written.
    pub(crate) fn write(
        &self,
        files: &[Content<'_>],
        stop: impl Fn() -> bool,
    ) -> Result<bool, OutputError> {
        let made = self.make(files)?;
        let written = self.stage(files, &stop).and_then(|staged| match staged {
            Some(staged) => commit(staged).map(|()| true),
            None => Ok(false),
        });
        if !matches!(written, Ok(true)) {
            unmake(&made);
        }
        written
    }

    /// Makes the folders of the files and those above; returns the new ones from the top down.
    fn make(&self, files: &[Content<'_>]) -> Result<Vec<PathBuf>, OutputError> {
        let targets: Vec<PathBuf> = files.iter().map(|file| self.path.join(file.name)).collect();
        let mut made: Vec<PathBuf> = Vec::new();
        let folders = targets.iter().filter_map(|target| target.parent());
        for folder in [self.path.as_path()].into_iter().chain(folders) {
            let missing = folder.ancestors().take_while(|path| !is_there(path));
            let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            made.extend(missing.into_iter().rev());
            if let Err(source) = fs::create_dir_all(folder) {
                unmake(&made);
                return Err(OutputError::Write {
                    path: folder.to_owned(),
                    source,
                });
            }
        }
        Ok(made)
    }

    /// Writes every file under a temporary name, as far as the disk. Over a quota, or on another
    /// machine, a system may say only then that there is no room.
    fn stage(
        &self,
        files: &[Content<'_>],
        stop: &impl Fn() -> bool,
    ) -> Result<Option<Vec<Staged>>, OutputError> {
        let (mut staged, mut pipes) = (Vec::with_capacity(files.len()), Vec::new());
        for file in files {
            let target = self.path.join(file.name);
            match OutputPlace::of(&target)? {
                OutputPlace::Pipe => pipes.push((file, target)),
                OutputPlace::File(place) => {
                    let temporary = self.temporary(file, &place);
                    let temporary = temporary.map_err(|source| OutputError::Write {
                        path: target,
                        source,
                    })?;
                    staged.push(Staged {
                        temporary,
                        target: place,
                    });
                }
            }
            if stop() {
                return Ok(None);
            }
        }
        // What has gone into a pipe cannot be taken back: all else is ready by then.
        for (file, path) in pipes {
            let poured = pour(file, &path, stop);
            if !poured.map_err(|source| OutputError::Write { path, source })? {
                return Ok(None);
            }
        }
        Ok(Some(staged))
    }

    /// Beside the place that it is to take.
    fn temporary(&self, file: &Content<'_>, place: &Path) -> io::Result<TempPath> {
        let mut to = BufWriter::new(public_temporary(parent_of(place))?);
        (file.write)(&mut to)?;
        let written = to.into_inner()?;
        (self.sync)(written.as_file())?;
        Ok(written.into_temp_path())
    }
}

/// Writes into what is there, which keeps its name; `false`: `stop` said so before.
fn pour(file: &Content<'_>, path: &Path, stop: impl Fn() -> bool) -> io::Result<bool> {
    let Some(open) = pipe::open(path, stop)? else {
        return Ok(false);
    };
    let mut to = BufWriter::new(open);
    (file.write)(&mut to)?;
    to.flush()?;
    Ok(true)
}

/// Removes folders that were made here, if they are empty, from the last to the first.
fn unmake(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// Why nothing can be written to a folder.
pub(crate) enum Unwritable {
    /// This file is where it, or a folder above it, should be.
    NoFolder(PathBuf),
    /// The system's reason.
    Fault(io::Error),
}

impl Unwritable {
    /// The same, of a folder of results.
    fn below(self, folder: &Path) -> OutputError {
        let path = folder.to_owned();
        match self {
            Unwritable::NoFolder(file) => OutputError::NotADirectory { path, file },
            Unwritable::Fault(source) => OutputError::Write { path, source },
        }
    }
}

/// Checks, without leaving a trace, that files can be written to a folder, which need not be there.
pub(crate) fn writable(folder: &Path) -> Result<(), Unwritable> {
    let there = existing(folder);
    if !there.is_dir() {
        return Err(Unwritable::NoFolder(there));
    }
    probe(&there).map_err(Unwritable::Fault)
}

/// Makes a file in a folder, which goes at once.
fn probe(folder: &Path) -> io::Result<()> {
    let made = Builder::new().prefix(".motet-").tempfile_in(folder);
    made.map(drop)
}

/// A written file that waits for its name; it vanishes when it never gets it.
struct Staged {
    temporary: TempPath,
    target: PathBuf,
}

/// Gives every file its name, or, if one fails, none: what was there before is set aside meanwhile.
fn commit(staged: Vec<Staged>) -> Result<(), OutputError> {
    let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
    for Staged { temporary, target } in staged {
        let renamed = set_aside(&target).and_then(|before| {
            let renamed = fs::rename(&temporary, &target);
            done.push((target.clone(), before));
            renamed
        });
        if let Err(source) = renamed {
            for (target, before) in done.into_iter().rev() {
                let _ = match before {
                    Some(before) => fs::rename(&before, &target),
                    None => fs::remove_file(&target),
                };
            }
            return Err(OutputError::Write {
                path: target,
                source,
            });
        }
    }
    Ok(())
}

/// Keeps what is at `target` under a second name, if there is something. That may also be a link
/// that leads nowhere, or what nobody here may read: it is copied only where it can have no second
/// name.
fn set_aside(target: &Path) -> io::Result<Option<TempPath>> {
    if !is_there(target) {
        return Ok(None);
    }
    let folder = parent_of(target);
    let mut name = Builder::new();
    name.prefix(".motet-");
    // It itself, whatever it is and however long. Some file systems give a file no second name.
    if let Ok(linked) = name.make_in(folder, |path| fs::hard_link(target, path)) {
        return Ok(Some(linked.into_temp_path()));
    }
    let before = name.tempfile_in(folder)?.into_temp_path();
    fs::copy(target, &before)?;
    Ok(Some(before))
}

/// The nearest folder or file that exists at or above `path`.
fn existing(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|path| is_there(path));
    let there = there.filter(|path| !path.as_os_str().is_empty());
    there.unwrap_or(Path::new(".")).to_owned()
}

/// Whether something is at `path`; the empty path is the working directory.
fn is_there(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.symlink_metadata().is_ok()
}

/// A temporary file with the rights of an ordinary new file, since it becomes one.
pub(crate) fn public_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".motet-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content<'a>(name: &'a str, text: &'a str) -> Content<'a> {
        Content {
            name,
            write: Box::new(move |to| to.write_all(text.as_bytes())),
        }
    }

    fn listing(folder: &Path) -> Vec<(String, String)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, fs::read_to_string(&path).unwrap_or_default())
            })
            .collect();
        files.sort();
        files
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_new_folder_and_its_parents_are_made_and_files_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let folder = ResultsFolder::check(&path, &["x", "y"]).unwrap();
        assert!(!path.exists());
        assert!(
            folder
                .write(&[content("x", "1"), content("y", "2")], || false)
                .unwrap()
        );
        assert!(folder.write(&[content("x", "3")], || false).unwrap());
        assert_eq!(listing(&path), [pair("x", "3"), pair("y", "2")]);
    }

    #[test]
    fn folders_of_files_are_made_too_and_go_with_them() {
        let root = tempfile::tempdir().unwrap();
        let folder = ResultsFolder::check(root.path(), &["a/x", "b/y"]).unwrap();
        let files = [content("a/x", "1"), content("b/y", "2")];
        assert!(!folder.write(&files, || true).unwrap());
        assert_eq!(listing(root.path()), []);
        assert!(folder.write(&files, || false).unwrap());
        assert_eq!(listing(&root.path().join("a")), [pair("x", "1")]);
        assert_eq!(listing(&root.path().join("b")), [pair("y", "2")]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_leaves_none_behind() {
        let root = tempfile::tempdir().unwrap();
        let folder = ResultsFolder::check(&root.path().join("new"), &[]).unwrap();
        let long = "l".repeat(300) + "/y";
        let files = [content("a/x", "1"), content(&long, "2")];
        assert!(folder.write(&files, || false).is_err());
        assert_eq!(listing(root.path()), []);
    }

    #[test]
    fn a_file_that_fails_leaves_everything_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x"), "old").unwrap();
        let folder = ResultsFolder::check(root.path(), &["x", "y"]).unwrap();
        let full: Content<'_> = Content {
            name: "y",
            write: Box::new(|_| Err(io::Error::from(io::ErrorKind::StorageFull))),
        };
        let error = folder
            .write(&[content("x", "new"), full], || false)
            .unwrap_err();
        assert!(matches!(error, OutputError::Write { path, .. } if path.ends_with("y")));
        assert_eq!(listing(root.path()), [pair("x", "old")]);
    }

    #[test]
    fn a_file_that_the_disk_does_not_take_leaves_everything_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x"), "old").unwrap();
        let folder = ResultsFolder {
            path: root.path().to_owned(),
            sync: |file| match file.metadata()?.len() {
                0 => Ok(()),
                _ => Err(io::Error::from(io::ErrorKind::QuotaExceeded)),
            },
        };
        let files = [content("a/y", ""), content("x", "new")];
        let error = folder.write(&files, || false).unwrap_err();
        assert!(matches!(error, OutputError::Write { path, .. } if path.ends_with("x")));
        assert_eq!(listing(root.path()), [pair("x", "old")]);
    }

    #[test]
    fn a_rename_that_fails_is_undone() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x"), "old").unwrap();
        let folder = ResultsFolder {
            path: root.path().to_owned(),
            sync: File::sync_all,
        };
        let files = [content("new", "1"), content("x", "2"), content("y", "3")];
        let staged = folder.stage(&files, &|| false).unwrap().unwrap();
        // A folder that is not empty took the place of the last file after the check.
        fs::create_dir_all(root.path().join("y/z")).unwrap();
        assert!(commit(staged).is_err());
        assert_eq!(listing(root.path()), [pair("x", "old"), pair("y", "")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_set_aside_comes_back_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("x"), "old").unwrap();
        std::os::unix::fs::symlink("x", root.path().join("link")).unwrap();
        let folder = ResultsFolder {
            path: root.path().to_owned(),
            sync: File::sync_all,
        };
        let files = [content("link", "1"), content("y", "2")];
        let staged = folder.stage(&files, &|| false).unwrap().unwrap();
        fs::create_dir_all(root.path().join("y/z")).unwrap();
        assert!(commit(staged).is_err());
        let link = root.path().join("link").symlink_metadata().unwrap();
        assert!(link.is_symlink());
        let there = [pair("link", "old"), pair("x", "old"), pair("y", "")];
        assert_eq!(listing(root.path()), there);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_followed_or_stays() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("x");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let folder = ResultsFolder::check(root.path(), &["x", "y"]).unwrap();
        let files = [content("x", "1"), content("y", "2")];
        let staged = folder.stage(&files, &|| false).unwrap().unwrap();
        // A folder that is not empty took the place of the last file after the check.
        fs::create_dir_all(root.path().join("y/z")).unwrap();
        assert!(commit(staged).is_err());
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("nowhere"));
        fs::remove_dir_all(root.path().join("y")).unwrap();
        assert!(folder.write(&files, || false).unwrap());
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("nowhere"));
        let there = [pair("nowhere", "1"), pair("x", "1"), pair("y", "2")];
        assert_eq!(listing(root.path()), there);
    }

    #[test]
    fn a_stop_writes_nothing_and_removes_the_folders_it_made() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let folder = ResultsFolder::check(&path, &["x"]).unwrap();
        assert!(!folder.write(&[content("x", "1")], || true).unwrap());
        assert_eq!(listing(root.path()), []);
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("deeper/still")] {
            let error = ResultsFolder::check(&path, &[]).unwrap_err();
            assert!(matches!(error, OutputError::NotADirectory { file: f, .. } if f == file));
        }
        fs::create_dir(root.path().join("map.svg")).unwrap();
        let error = ResultsFolder::check(root.path(), &["map.svg"]).unwrap_err();
        assert!(matches!(error, OutputError::InTheWay { .. }));
    }

    #[cfg(unix)]
    #[test]
    fn files_get_ordinary_rights() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let plain = root.path().join("plain");
        fs::write(&plain, "").unwrap();
        let folder = ResultsFolder::check(root.path(), &["x"]).unwrap();
        assert!(folder.write(&[content("x", "1")], || false).unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&root.path().join("x")), mode(&plain));
    }
}
