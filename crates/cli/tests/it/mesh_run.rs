//! The mesh of a run: what `motet run` gives its processes, and that nothing of it stays.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use motet_testkit::{mpi_libraries, patience, within};

use crate::linked::{all_know, example, on_machines};
use crate::program::{ProgramFolder, Run};

/// `motet run` in a place where the folders of meshes are made, too.
fn command(place: &ProgramFolder, library: &PathBuf, options: &str, program: &[&str]) -> Command {
    let mut command = place.command(&format!("run --quiet {options} --mpi-lib"));
    command
        .arg(library)
        .arg("--")
        .args(program)
        .env("XDG_RUNTIME_DIR", place.path(""))
        .env("TMPDIR", place.path(""))
        .env("motet", env!("CARGO_BIN_EXE_motet"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn started(place: &ProgramFolder, library: &PathBuf, options: &str, program: &[&str]) -> Run {
    let mut child = command(place, library, options, program).spawn().unwrap();
    // Open: see `run::started`.
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    output.into()
}

/// The folders of meshes in a place, and what else a run has made there.
fn folders(place: &ProgramFolder) -> Vec<String> {
    let mut names = place.names("");
    names.retain(|name| name.starts_with("motet-"));
    names
}

/// Nothing is left, at once or a moment after the launcher.
#[track_caller]
fn is_clean(place: &ProgramFolder) {
    let begin = Instant::now();
    while !folders(place).is_empty() {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{:?}",
            folders(place)
        );
        std::thread::yield_now();
    }
}

#[test]
fn sem_g251_needs_mpi_processes_of_a_run_meet_without_settings() {
    within(patience(), || {
        let program = example("mesh_of_a_run").display().to_string();
        for library in mpi_libraries() {
            for (options, processes) in [("-t 2 -m 2", 2), ("-m 3", 3)] {
                let place = ProgramFolder::new();
                let said = started(&place, &library, options, &[&program]).quiet_success();
                let mut lines: Vec<&str> = said.lines().collect();
                lines.sort_unstable();
                assert_eq!(lines.len(), processes, "{said}");
                for (number, line) in lines.iter().enumerate() {
                    let begin = format!("process {number} of {processes}: ");
                    assert!(line.starts_with(&begin), "{said}");
                }
                is_clean(&place);
            }
        }
    });
}

#[test]
fn sem_g251_needs_mpi_programs_with_colons_between_them_are_one_mesh() {
    within(patience(), || {
        let program = example("six_models_linked").display().to_string();
        for library in mpi_libraries() {
            let place = ProgramFolder::new();
            let roles = ["centre", ":", "viewer", ":", "sensor-0", ":", "sensor-1"];
            let words: Vec<&str> = roles
                .iter()
                .flat_map(|&word| match word {
                    ":" => vec![":"],
                    role => vec![&program[..], role],
                })
                .collect();
            let run = started(&place, &library, "", &words);
            assert_eq!(run.code, 0, "{}", run.err);
            for words in ["six_models: 6 stops", "six_models: the viewer waits"] {
                assert!(run.out.contains(words), "{}\n{}", run.out, run.err);
            }
            is_clean(&place);
        }
    });
}

/// Says the mode of the folder, has a node make the key, and looks for it where others see it.
const SECRET: &str = r#"stat -c %a "$MOTET_MESH"
"$motet" mesh peers --within 0.1 >/dev/null || exit 3
[ -s "$MOTET_MESH/mesh.key" ] || exit 4
grep -q -F -f "$MOTET_MESH/mesh.key" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null && exit 5
exit 0"#;

#[test]
fn sem_g251_needs_mpi_the_key_is_in_a_folder_that_others_cannot_enter_and_nowhere_else() {
    within(patience(), || {
        for library in mpi_libraries() {
            let place = ProgramFolder::new();
            let run = started(&place, &library, "", &["sh", "-c", SECRET]);
            assert_eq!((run.code, run.out.as_str()), (0, "700\n"), "{}", run.err);
            is_clean(&place);
            let said = ["sh", "-c", "echo ${MOTET_MESH-none}"];
            let none = started(&place, &library, "--no-mesh", &said);
            assert_eq!(none.quiet_success(), "none\n");
        }
    });
}

#[test]
fn sem_g251_needs_mpi_nothing_stays_of_a_run_that_is_killed() {
    within(patience(), || {
        for library in mpi_libraries() {
            let place = ProgramFolder::new();
            let run = started(&place, &library, "-m 2", &["sh", "-c", "kill -9 $$"]);
            assert_ne!(run.code, 0);
            is_clean(&place);
            let ready = ["sh", "-c", ": > ready; exec sleep 1000"];
            let mut child = command(&place, &library, "", &ready).spawn().unwrap();
            while !place.path("ready").exists() {
                assert!(child.try_wait().unwrap().is_none(), "it ended too early");
                std::thread::yield_now();
            }
            assert_eq!(folders(&place).len(), 1);
            child.kill().unwrap();
            child.wait().unwrap();
            is_clean(&place);
        }
    });
}

#[test]
fn sem_g252_a_folder_that_is_not_there_is_refused_with_what_to_do() {
    let place = ProgramFolder::new();
    let output = place
        .command("mesh peers")
        .env("MOTET_MESH", place.path("elsewhere"))
        .output()
        .unwrap();
    Run::from(output).refusal(&["elsewhere", "not on this machine", "motet run --mesh DIR"]);
}

#[test]
fn sem_g252_needs_mpi_where_machines_share_no_folder_there_is_none() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("hosts", "localhost\n");
        let said = ["sh", "-c", "echo ${MOTET_MESH-none}"];
        let alone = started(&place, &library, "--hostfile hosts", &said);
        assert_eq!(alone.quiet_success(), "none\n");
        // The note of the process lies there too.
        let listing = ["sh", "-c", r#"ls "$MOTET_MESH" | grep -v '^motet-run-'"#];
        let shared = started(&place, &library, "--hostfile hosts --mesh .", &listing);
        assert_eq!(shared.quiet_success(), "machines\n");
        is_clean(&place);
        started(&place, &library, "--mesh nowhere", &["true"]).refusal(&["--mesh is", "nowhere"]);
        let script = started(
            &place,
            &library,
            "-n 2 --slurm --dry-run --mesh .",
            &["true"],
        );
        let script = script.quiet_success();
        assert!(script.contains("/motet-mesh-$SLURM_JOB_ID\n"), "{script}");
    }
}

#[test]
fn sem_g252_needs_hosts_machines_meet_in_a_folder_that_they_share() {
    within(patience(), || {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("machines"), "").unwrap();
        let on = r#"on() { ip netns exec "$1" "$program" "$2"; }"#;
        let ended = on_machines(on).env("MOTET_MESH", folder.path()).output();
        all_know(&ended.unwrap());
        let left = fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["machines", "mesh.key"]);
    });
}
