//! No folder of the machine that builds is named in what it builds.

use super::super::project::{FLAGS, Project, with_flags};
use anyhow::Result;
use fs_err as fs;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of the machine, and what they are called in the artefacts. Of several that fit the last
/// counts.
#[derive(Debug)]
pub(super) struct Paths(Vec<(PathBuf, &'static str)>);

impl Paths {
    /// Those of this machine and this project.
    pub(super) fn of(project: &Project) -> Paths {
        let home = env::var_os("HOME").map(PathBuf::from);
        let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
        let cargo = cargo.or_else(|| home.as_ref().map(|home| home.join(".cargo")));
        let all = [
            (home, "/home"),
            (cargo, "/cargo"),
            (Some(project.root.clone()), "/motet"),
            (Some(project.target.clone()), "/target"),
        ];
        let named = all
            .into_iter()
            .filter_map(|(path, name)| Some((path?, name)));
        // The root of all files is in every path.
        Paths(named.filter(|(path, _)| path.parent().is_some()).collect())
    }

    /// Has compilers of Rust and C that a command starts call folders as they are called here.
    pub(super) fn hide(&self, command: &mut Command) {
        let (mut rust, mut c) = (Vec::new(), env::var("CFLAGS").unwrap_or_default());
        for (path, name) in &self.0 {
            let path = path.display();
            rust.push(format!("--remap-path-prefix={path}={name}"));
            c += &format!(" {}", word(&format!("-ffile-prefix-map={path}={name}")));
        }
        command
            .env(FLAGS, with_flags(rust.iter().map(String::as_str)))
            .env("CFLAGS", c)
            .env("CC_SHELL_ESCAPED_FLAGS", "1");
    }

    /// What bytes name of the machine: the text from each folder on that is found first.
    pub(super) fn named_in(&self, bytes: &[u8]) -> Vec<String> {
        let found = self.0.iter().filter_map(|(path, _)| {
            // A folder that begins with the same letters is another one.
            let folder = format!("{}/", path.display()).into_bytes();
            let at = bytes
                .windows(folder.len())
                .position(|part| part == folder)?;
            let text = bytes[at..]
                .iter()
                .take(100)
                .take_while(|byte| byte.is_ascii_graphic());
            Some(text.map(|byte| char::from(*byte)).collect())
        });
        found.collect()
    }

    /// Faults of a file, or of all files below a folder.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn faults(&self, place: &Path) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        if place.is_dir() {
            for entry in fs::read_dir(place)? {
                faults.extend(self.faults(&entry?.path())?);
            }
        } else {
            let name = place.file_name().unwrap_or_default().display();
            let named = self.named_in(&fs::read(place)?).into_iter();
            faults
                .extend(named.map(|text| format!("{name} names a folder of this machine: {text}")));
        }
        Ok(faults)
    }
}

/// One word of a line that is read as a shell reads it.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
    match text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Paths, word};
    use std::path::PathBuf;
    use std::process::Command;

    fn paths() -> Paths {
        Paths(vec![
            (PathBuf::from("/home/ada"), "/home"),
            (PathBuf::from("/home/ada/motet"), "/motet"),
        ])
    }

    #[test]
    fn folders_of_the_machine_are_found_in_a_program() {
        let found = paths().named_in(b"\0\x01src/x.rs\0/home/ada/.cargo/a.rs\0more");
        assert_eq!(found, ["/home/ada/.cargo/a.rs"]);
        let both = paths().named_in(b"<file:/home/ada/motet/b.rs>\0");
        assert_eq!(both, ["/home/ada/motet/b.rs>"; 2]);
        assert!(paths().named_in(b"/home/adam/a.rs /cargo/a.rs").is_empty());
        assert!(paths().named_in(b"").is_empty());
    }

    #[test]
    fn compilers_are_told_how_folders_are_called() {
        let mut command = Command::new("cargo");
        paths().hide(&mut command);
        let told = |name: &str| {
            let mut all = command.get_envs();
            let (_, value) = all.find(|(key, _)| *key == name).unwrap();
            value.unwrap().to_str().unwrap().to_owned()
        };
        let rust = told("CARGO_ENCODED_RUSTFLAGS");
        assert!(rust.ends_with(
            "--remap-path-prefix=/home/ada=/home\u{1f}--remap-path-prefix=/home/ada/motet=/motet"
        ));
        assert!(told("CFLAGS").ends_with("-ffile-prefix-map=/home/ada/motet=/motet"));
    }

    #[test]
    fn a_folder_with_spaces_is_one_word_for_compilers_of_c() {
        let folder = "/home/ada/my motet's";
        let mut command = Command::new("sh");
        Paths(vec![(PathBuf::from(folder), "/motet")]).hide(&mut command);
        // The variable says that flags are to be read so.
        let reads =
            r#"eval "set -- $CFLAGS"; for last; do :; done; echo "$CC_SHELL_ESCAPED_FLAGS $last""#;
        let told = command.args(["-c", reads]).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert_eq!(told, format!("1 -ffile-prefix-map={folder}=/motet\n"));
        assert_eq!(word("-fmap=/a/b=/c"), "-fmap=/a/b=/c");
    }
}
