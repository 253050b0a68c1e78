//! Programs are built with what has been installed.

use crate::cc::{cc, done, folder, library, runs};
use std::path::Path;
use std::process::Command;

#[test]
fn sem_g493_a_program_is_built_by_pkg_config_needs_cc() {
    let Some(cc) = cc() else { return };
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let mut install = Command::new("sh");
    install
        .arg(folder("install.sh"))
        .arg(&prefix)
        .arg(library());
    done(&mut install);
    if !runs(Path::new("pkg-config")) {
        eprintln!("left out: what pkg-config says; there is none");
        return;
    }
    let asked = |what: &[&str]| {
        let mut command = Command::new("pkg-config");
        let path = prefix.join("lib/pkgconfig");
        let said = done(command.args(what).arg("motet").env("PKG_CONFIG_PATH", path));
        said.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    for (name, words) in [
        ("shared", asked(&["--cflags", "--libs"])),
        // The library first: an archive gives what was asked for before it.
        ("static", asked(&["--cflags", "--libs", "--static"])),
    ] {
        let program = prefix.join(name);
        let mut compile = Command::new(&cc);
        compile
            .arg(folder("examples/hello_port.c"))
            .arg("-o")
            .arg(&program);
        if name == "static" {
            let archive = prefix.join("lib/libmotet.a");
            let words = words.iter().map(|word| match word.as_str() {
                "-lmotet" => archive.to_str().unwrap(),
                other => other,
            });
            compile.args(words);
        } else {
            compile.args(&words);
        }
        done(&mut compile);
        let mut run = Command::new(&program);
        let said = done(run.env("LD_LIBRARY_PATH", prefix.join("lib")));
        assert_eq!(said, "hello motet\n");
    }
}
