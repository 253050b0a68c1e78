//! Processes on another machine, started by a program in place of ssh. The machines are namespaces
//! of this one with a cable between them: that needs root, and `unshare` and `ip`: `needs_hosts`.

use std::path::Path;
use std::process::{Command, Stdio};

use motet_testkit::{mpi_libraries, patience, within};
use serde_json::Value;

use crate::program::{Place, Run, three_groups};

/// Runs a line on the first of two machines. `reach` starts a command on the other one, and notes
/// that it has. All of it is gone when the line ends.
const MACHINES: &str = r#"set -e
mount --make-rprivate /
mount -t tmpfs machines /run/netns 2>/dev/null || { mkdir -p /run/netns; mount -t tmpfs machines /run/netns; }
printf '127.0.0.1 localhost\n10.77.0.1 h1\n10.77.0.2 h2\n' > /run/netns/names
mount --bind /run/netns/names /etc/hosts
mount -t sysfs machine /sys
hostname h1
ip link set lo up
ip netns add h2
ip link add cable type veth peer name cable netns h2
ip addr add 10.77.0.1/24 dev cable
ip link set cable up
ip -n h2 addr add 10.77.0.2/24 dev cable
ip -n h2 link set lo up
ip -n h2 link set cable up
cat > reach <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
echo "$1" >> reached
host=$1; shift
exec ip netns exec "$host" unshare --uts --pid --fork --mount-proc --kill-child sh -c "hostname $host; $*"
END
chmod +x reach
until [ "$(ip netns exec h2 cat /sys/class/net/cable/operstate)" = up ]; do sleep 0.01; done
"$@""#;

const NAMESPACES: [&str; 7] = [
    "--net",
    "--mount",
    "--uts",
    "--pid",
    "--fork",
    "--mount-proc",
    "--kill-child",
];

/// The program with these arguments, on the first of two machines.
fn on_two(place: &Place, library: &Path, arguments: &str) -> Run {
    let folder = library.parent().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(NAMESPACES)
        .args(["sh", "-c", MACHINES, "machines"])
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
        let place = Place::with("points.csv", three_groups());
        place.write("hosts", "h1\nh2\n");
        place.write("say", "#!/bin/sh\necho $(hostname) $MOTET_THREADS\n");
        let spread = "-n 2 --hostfile hosts --launcher-exec ./reach";
        let run = format!("run --quiet --no-mesh -t 3 {spread} -- sh say");
        let said = on_two(&place, &library, &run).quiet_success();
        let mut lines: Vec<&str> = said.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["h1 3", "h2 3"], "{}", library.display());
        let reached = place.read("reached");
        assert!(reached.lines().any(|name| name == "h2"), "{reached}");
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
