//! Example programs that tests start.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

/// An example program, which Cargo puts beside the folder of the tests. `build`: the command that
/// builds it.
///
/// # Panics
/// It is missing, or older than one of the sources that it was built of, as Cargo's list beside it
/// names them. Tests would then try an earlier state of the project.
#[must_use]
#[track_caller]
pub fn example(name: &str, build: &str) -> PathBuf {
    let test = env::current_exe().expect("the system knows the program of this process");
    let folder = test.parent().and_then(Path::parent);
    let folder = folder.expect("tests lie in a folder of the target folder");
    let program = folder.join("examples").join(name);
    match stale(&program) {
        Stale::No => program,
        Stale::Missing => panic!("{} is missing: run `{build}`", program.display()),
        Stale::Older(source) => panic!(
            "{} is older than {source}: run `{build}`",
            program.display()
        ),
    }
}

#[derive(Debug, PartialEq)]
enum Stale {
    No,
    Missing,
    Older(String),
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Without a list, or with names that have spaces, nothing is known of its sources.
fn stale(program: &Path) -> Stale {
    let Some(built) = changed(program) else {
        return Stale::Missing;
    };
    let list = fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    let mut sources = list.split_whitespace().skip(1);
    let newer = sources.find(|source| changed(Path::new(source)).is_some_and(|at| at > built));
    newer.map_or(Stale::No, |source| Stale::Older(source.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_example_that_is_missing_or_older_than_a_source_is_told() {
        let folder = env::temp_dir().join(format!("motet-testkit-example-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (program, source) = (folder.join("it"), folder.join("it.rs"));
        assert_eq!(stale(&program), Stale::Missing);
        fs::write(&program, "").unwrap();
        assert_eq!(stale(&program), Stale::No, "there is no list");
        fs::write(&source, "").unwrap();
        let list = format!("{}: {} /none.rs\n", program.display(), source.display());
        fs::write(folder.join("it.d"), list).unwrap();
        let built = changed(&program).unwrap();
        let at = |time| {
            let source = fs::File::options().write(true).open(&source).unwrap();
            source.set_modified(time).unwrap();
        };
        at(built - Duration::from_secs(1));
        assert_eq!(stale(&program), Stale::No);
        at(built + Duration::from_secs(1));
        assert_eq!(stale(&program), Stale::Older(source.display().to_string()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
