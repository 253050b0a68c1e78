//! The header and the library say the same.

use crate::cc::{cc, done, folder, library, runs};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn text() -> String {
    fs::read_to_string(folder("include/motet.h")).unwrap()
}

/// The names that stand before an opening parenthesis in the declarations of the header.
fn declared() -> BTreeSet<String> {
    let text = text();
    let code = text.split("/*").filter_map(|part| part.split_once("*/"));
    let code: String = code.map(|(_, code)| code).collect();
    let declarations = code.lines().filter(|line| !line.starts_with('#'));
    let declarations: String = declarations.collect::<Vec<_>>().join("\n");
    let before = declarations.split('(').filter_map(|part| {
        let start = part.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Some(part[start? + 1..].to_owned())
    });
    before.filter(|name| name.starts_with("motet_")).collect()
}

/// The functions that the sources give to C, and their files.
fn defined() -> BTreeSet<String> {
    let files = ["src/border", "src/foreign"].map(|name| fs::read_dir(folder(name)).unwrap());
    let sources = files
        .into_iter()
        .flatten()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let names = sources.flat_map(|source| {
        let after = source.split("extern \"C\" fn ").skip(1);
        let names =
            after.filter_map(|after| after.split_once('(').map(|(name, _)| name.to_owned()));
        names.collect::<Vec<_>>()
    });
    names.filter(|name| name.starts_with("motet_")).collect()
}

#[test]
fn sem_g486_the_header_declares_what_the_library_has() {
    let (declared, defined) = (declared(), defined());
    assert!(defined.len() > 50, "{defined:?}");
    assert_eq!(declared, defined);
}

#[test]
fn sem_g486_the_codes_are_those_of_the_library() {
    let source = fs::read_to_string(folder("src/error.rs")).unwrap();
    let wanted = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("/// `MOTET_"));
    let wanted: Vec<String> = wanted
        .enumerate()
        .map(|(number, name)| format!("MOTET_{} = {number}", name.trim_end_matches('`')))
        .collect();
    assert_eq!(wanted.len(), 17);
    let text = text();
    for code in wanted {
        let is_there = |end: &str| text.contains(&format!("{code}{end}"));
        assert!(is_there(",") || is_there(" "), "{code}");
    }
}

#[test]
fn sem_g486_the_library_gives_no_other_names_needs_cc() {
    let Some(_) = cc().filter(|_| runs(Path::new("nm"))) else {
        eprintln!("left out: the names of the library are read by nm");
        return;
    };
    let shared = library().join("libmotet.so");
    let names = done(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(shared),
    );
    let names = names.lines().filter_map(|line| line.rsplit(' ').next());
    let given: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(given, declared());
}

#[test]
fn sem_g486_the_header_is_strict_c_and_cxx_needs_cc() {
    let Some(cc) = cc() else { return };
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"];
    let check = |compiler: &Path, standard: &str, language: &str| {
        let mut command = Command::new(compiler);
        command.args(strict).arg(standard).args(["-x", language]);
        done(command.arg(folder("include/motet.h")));
    };
    check(&cc, "-std=c99", "c");
    check(&cc, "-std=c17", "c");
    let cxx = PathBuf::from("c++");
    match runs(&cxx) {
        true => check(&cxx, "-std=c++11", "c++"),
        false => eprintln!("left out: the header as C++; there is no c++"),
    }
}
