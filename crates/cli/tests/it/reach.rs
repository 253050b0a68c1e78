//! Processes on another machine, started by a program in place of ssh. The machines are namespaces
//! of this one with a cable between them: that needs root, and `unshare` and `ip`: `needs_hosts`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use motet_testkit::{mpi_libraries, patience, two_machines, within};
use serde_json::Value;

use crate::program::{ProgramFolder, Run, three_groups};

/// Notes that it was called, and starts the command on the other machine.
const REACH: &str = r#"#!/bin/sh
echo "$@" >> reached
exec /run/netns/shell "$@"
"#;

/// The program with these arguments, on the first of two machines.
fn on_two(place: &ProgramFolder, library: &Path, arguments: &str) -> Run {
    let folder = library.parent().unwrap();
    let mut command = two_machines();
    command
        .arg(env!("CARGO_BIN_EXE_motet"))
        .args(arguments.split_whitespace())
        .current_dir(place.path(""))
        .env("MOTET_MPI_LIB", library)
        // Both machines have the same boot: it would take shared memory between them.
        .envs([("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "cable")])
        .envs([("I_MPI_FABRICS", "shm:ofi"), ("FI_PROVIDER", "tcp")])
        .env("FI_PROVIDER_PATH", folder)
        .env("LD_LIBRARY_PATH", folder)
        .stdin(Stdio::null());
    within(patience(), move || command.output().unwrap().into())
}

#[test]
fn sem_g497_needs_mpi_needs_hosts_a_program_starts_processes_on_another_machine() {
    for library in mpi_libraries() {
        let place = ProgramFolder::with("points.csv", three_groups());
        place.write("hosts", "h1\nh2\n");
        place.write("reach", REACH);
        fs::set_permissions(place.path("reach"), Permissions::from_mode(0o755)).unwrap();
        place.write("say", "#!/bin/sh\necho $(hostname) $MOTET_THREADS\n");
        let spread = "-n 2 --hostfile hosts --launcher-exec ./reach";
        let run = format!("run --quiet --no-mesh -t 3 {spread} -- sh say");
        let said = on_two(&place, &library, &run).quiet_success();
        let mut lines: Vec<&str> = said.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["h1 3", "h2 3"], "{}", library.display());
        let reached = place.read("reached");
        assert!(reached.split(' ').any(|word| word == "h2"), "{reached}");
        // Ranks on both machines are one world.
        let cluster = "cluster points.csv -k 3 --json -t 1";
        let there = on_two(&place, &library, &format!("{cluster} {spread}")).quiet_success();
        let here = place.run(cluster).quiet_success();
        let [there, here]: [Value; 2] = [there, here].map(|text| {
            let found: Value = serde_json::from_str(&text).unwrap();
            found
        });
        assert_eq!(
            (&there["table"], &there["trace"]),
            (&here["table"], &here["trace"])
        );
        assert_eq!(there["threads"], 2);
    }
}
