//! The library, and programs in C that are built with it.

use motet_sync::Mutex;
use std::collections::HashMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, OnceLock};

/// What a static program links beside the library: what `rustc --print native-static-libs` says.
const STATIC: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

/// How a program gets the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Linked {
    Shared,
    Static,
}

/// The C compiler: `CC`, else `cc`. `None` where there is none, which is said; in CI that is a
/// failure.
pub(crate) fn cc() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let cc = PathBuf::from(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        runs(&cc).then_some(cc)
    });
    if found.is_none() {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a program in C").to_owned();
        let strict = env::var_os("CI").is_some_and(|value| value == "1" || value == "true");
        assert!(!strict, "{test} needs a C compiler: install one or set CC");
        eprintln!("left out: {test} needs a C compiler; install one or set CC");
    }
    found.clone()
}

/// Whether there is such a compiler.
pub(crate) fn runs(compiler: &Path) -> bool {
    let mut command = Command::new(compiler);
    let command = command.arg("--version").stdout(Stdio::null());
    let status = command.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// This folder of the package.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The folder that holds `libmotet.so` and `libmotet.a` as they are now.
///
/// Cargo builds no such library for a test. Either it is in the folder `MOTET_C_LIBRARY`, or this
/// has it built, once, in the profile and the folder of the test.
pub(crate) fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let named = env::var_os("MOTET_C_LIBRARY").filter(|folder| !folder.is_empty());
        if let Some(folder) = named {
            return folder.into();
        }
        let test = env::current_exe().unwrap();
        // target/<profile>/deps/<test>
        let profile = test.parent().and_then(Path::parent).unwrap();
        let name = match profile.file_name().and_then(|name| name.to_str()) {
            Some("debug") => "dev",
            Some(name) => name,
            None => panic!("{} is in no folder of a profile", test.display()),
        };
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--package", "motet-c", "--lib", "--profile", name]);
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        done(cargo.current_dir(folder("")));
        profile.to_owned()
    })
}

/// Compiles a program, once, and gives its path. Who comes meanwhile waits: a program that is being
/// written cannot be started.
pub(crate) fn compiled(cc: &Path, source: &Path, linked: Linked) -> PathBuf {
    type Programs = HashMap<(PathBuf, Linked), Arc<OnceLock<PathBuf>>>;
    static COMPILED: OnceLock<Mutex<Programs>> = OnceLock::new();
    let mut compiled = COMPILED.get_or_init(Mutex::default).lock();
    let key = (source.to_owned(), linked);
    let program = Arc::clone(compiled.entry(key).or_default());
    drop(compiled);
    program.get_or_init(|| compile(cc, source, linked)).clone()
}

fn compile(cc: &Path, source: &Path, linked: Linked) -> PathBuf {
    let built = library();
    let name = source.file_stem().unwrap().to_string_lossy();
    // Programs of other processes that run the same tests have other names.
    let own = format!("{name}-{linked:?}-{}", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(own);
    let mut command = Command::new(cc);
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-I"]);
    command
        .arg(folder("include"))
        .arg("-I")
        .arg(folder("tests/c"));
    command.arg(source).arg("-o").arg(&program);
    match linked {
        Linked::Shared => {
            command.arg("-L").arg(built).arg("-lmotet");
            command.arg(format!("-Wl,-rpath,{}", built.display()));
            command.args(["-lm", "-pthread"]);
        }
        Linked::Static => {
            command.arg(built.join("libmotet.a")).args(STATIC);
        }
    }
    done(&mut command);
    program
}

/// Runs a command that must end well; what it has said on standard output.
pub(crate) fn done(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (stdout, stderr) = (
        String::from_utf8_lossy(&stdout).into_owned(),
        String::from_utf8_lossy(&stderr),
    );
    assert!(
        status.success(),
        "{command:?}: {status}\n{stdout}\n{stderr}"
    );
    stdout
}
