//! Where MPI libraries are looked for.
//!
//! Nothing is read from the environment here: who looks says what was named where.

use crate::error::{MpiError, STATIC};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The names that libraries with the standard ABI have (MPI 5.0, section 20.2).
const NAMES: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so"];

/// Folders in which systems and packages put libraries.
const SYSTEM: [&str; 7] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/opt/mpich/lib",
    "/opt/intel/oneapi/mpi/latest/lib",
];

/// Where to look for an MPI library, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibrarySearch {
    /// Named by the user: a library, or a folder that holds one in itself or in `lib`. If there is
    /// one it is the only place.
    pub named: Option<PathBuf>,
    /// Folders of Python environments and other installations, which hold `lib`.
    pub prefixes: Vec<PathBuf>,
    /// Folders of libraries, as in `LD_LIBRARY_PATH`.
    pub folders: Vec<PathBuf>,
    /// Whether to look in the system's folders too.
    pub system: bool,
}

impl LibrarySearch {
    /// Looks only at what was named.
    #[must_use]
    pub fn named(path: impl Into<PathBuf>) -> LibrarySearch {
        LibrarySearch {
            named: Some(path.into()),
            ..LibrarySearch::default()
        }
    }

    /// The usual search: at the place that was named. Else in the environment of Python that is
    /// active, in the loader's path and where systems put libraries. `variable` gives the value of
    /// a variable of the environment. An empty name is none.
    #[must_use]
    pub fn usual(
        named: Option<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> LibrarySearch {
        let paths = |name: &str| -> Vec<PathBuf> {
            let value = variable(name).unwrap_or_default();
            let paths = env::split_paths(&value);
            paths.filter(|path| !path.as_os_str().is_empty()).collect()
        };
        let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX", "I_MPI_ROOT"];
        LibrarySearch {
            named: named.filter(|named| !named.as_os_str().is_empty()),
            prefixes: prefixes.iter().flat_map(|name| paths(name)).collect(),
            folders: paths("LD_LIBRARY_PATH"),
            system: true,
        }
    }

    /// The library to use: the first there is.
    ///
    /// ```
    /// use motet_mpi::{MpiError, LibrarySearch};
    ///
    /// let missing = LibrarySearch::named("/nowhere").find();
    /// assert!(matches!(missing, Err(MpiError::NotFound { .. })));
    /// ```
    ///
    /// # Errors
    /// [`MpiError::NotFound`] with the places when there is none, [`MpiError::Static`] in a program
    /// that cannot open any.
    pub fn find(&self) -> Result<PathBuf, MpiError> {
        if STATIC {
            return Err(MpiError::Static);
        }
        self.all()
            .into_iter()
            .next()
            .ok_or_else(|| MpiError::NotFound {
                looked: self.places(),
            })
    }

    /// Every library there is, each once, in the order of the search.
    #[must_use]
    pub fn all(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut real: Vec<PathBuf> = Vec::new();
        for place in self.places() {
            let Some(library) = library_in(&place) else {
                continue;
            };
            let target = library.canonicalize().unwrap_or_else(|_| library.clone());
            if !real.contains(&target) {
                real.push(target);
                found.push(library);
            }
        }
        found
    }

    /// Where it looks.
    fn places(&self) -> Vec<PathBuf> {
        if let Some(named) = &self.named {
            return vec![named.clone()];
        }
        let mut places: Vec<PathBuf> = self.prefixes.iter().map(|p| p.join("lib")).collect();
        places.extend(self.folders.iter().cloned());
        if self.system {
            places.extend(SYSTEM.iter().map(PathBuf::from));
        }
        places
    }
}

impl Default for LibrarySearch {
    fn default() -> Self {
        LibrarySearch {
            named: None,
            prefixes: Vec::new(),
            folders: Vec::new(),
            system: true,
        }
    }
}

/// The library that a place is or holds. (`libmpi_abi.so` may be a linker's script, so the
/// versioned name comes first.)
fn library_in(place: &Path) -> Option<PathBuf> {
    if place.is_file() {
        // By a name without a folder the system's loader would open a library of its own folders.
        let is_bare = place.parent() == Some(Path::new(""));
        let folder = Path::new(if is_bare { "." } else { "" });
        return Some(folder.join(place));
    }
    let folders = [place.to_owned(), place.join("lib")];
    let candidates = folders
        .iter()
        .flat_map(|folder| NAMES.iter().map(|name| folder.join(name)));
    candidates.into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of its own for a test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("motet-find-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("env/lib")).unwrap();
        fs::create_dir_all(folder.join("libs")).unwrap();
        folder
    }

    fn touch(path: &Path) {
        fs::write(path, "").unwrap();
    }

    #[test]
    fn environments_come_before_folders_and_versioned_names_first() {
        let at = folder("order");
        let search = LibrarySearch {
            prefixes: vec![at.join("env")],
            folders: vec![at.join("libs")],
            system: false,
            ..LibrarySearch::default()
        };
        assert_eq!(search.all(), Vec::<PathBuf>::new());
        touch(&at.join("libs/libmpi_abi.so.1"));
        assert_eq!(search.find(), Ok(at.join("libs/libmpi_abi.so.1")));
        touch(&at.join("env/lib/libmpi_abi.so"));
        touch(&at.join("env/lib/libmpi_abi.so.1"));
        let both = vec![
            at.join("env/lib/libmpi_abi.so.1"),
            at.join("libs/libmpi_abi.so.1"),
        ];
        assert_eq!(search.all(), both);
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn what_is_named_is_the_only_place() {
        let at = folder("named");
        touch(&at.join("env/lib/libmpi_abi.so.1"));
        touch(&at.join("own.so"));
        let named = |path: PathBuf| {
            let search = LibrarySearch {
                folders: vec![at.join("env/lib")],
                ..LibrarySearch::named(path)
            };
            search.find()
        };
        assert_eq!(named(at.join("own.so")), Ok(at.join("own.so")));
        assert_eq!(
            named(at.join("env")),
            Ok(at.join("env/lib/libmpi_abi.so.1"))
        );
        let missing = named(at.join("libs"));
        let looked = vec![at.join("libs")];
        assert_eq!(missing, Err(MpiError::NotFound { looked }));
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn a_file_of_the_working_folder_is_not_looked_for_elsewhere() {
        // Tests run in the folder of their crate.
        let found = LibrarySearch::named("Cargo.toml").find();
        assert_eq!(found, Ok(PathBuf::from("./Cargo.toml")));
        let found = LibrarySearch::named("src/lib.rs").find();
        assert_eq!(found, Ok(PathBuf::from("src/lib.rs")));
    }

    #[test]
    fn an_empty_name_is_none() {
        let search = LibrarySearch::usual(Some(PathBuf::new()), |_| None);
        assert_eq!(search, LibrarySearch::default());
    }

    #[cfg(unix)]
    #[test]
    fn a_library_with_two_names_is_found_once() {
        let at = folder("twice");
        touch(&at.join("libs/libmpi_abi.so.1"));
        std::os::unix::fs::symlink(
            at.join("libs/libmpi_abi.so.1"),
            at.join("env/lib/libmpi_abi.so.1"),
        )
        .unwrap();
        let search = LibrarySearch {
            prefixes: vec![at.join("env")],
            folders: vec![at.join("libs")],
            system: false,
            ..LibrarySearch::default()
        };
        assert_eq!(search.all(), [at.join("env/lib/libmpi_abi.so.1")]);
        fs::remove_dir_all(at).unwrap();
    }
}
