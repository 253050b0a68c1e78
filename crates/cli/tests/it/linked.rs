//! All six messaging models as processes that zenoh links: on this machine, and on three machines,
//! which are namespaces of the network with a switch between them. These need root, and `unshare`
//! and `ip`: `needs_hosts`.

use motet_mesh_zenoh::RunKey;
use motet_testkit::{patience, within};
use std::path::PathBuf;
use std::process::{Command, Output};

/// Puts three machines on one switch, runs a role on each and two sensors, and ends as the worst of
/// them. `@on@` is to say what runs a role on a machine.
const MACHINES: &str = r#"set -e
mount --make-rprivate /
mkdir -p /run/netns
mount -t tmpfs machines /run/netns
ip link add switch type bridge
ip link set switch up
for n in 1 2 3; do
    ip netns add h$n
    ip link add port$n type veth peer name cable netns h$n
    ip link set port$n master switch up
    ip -n h$n addr add 10.78.0.$n/24 dev cable
    ip -n h$n link set lo up
    ip -n h$n link set cable up
done
@on@
first="--known 10.78.0.1:7460"
on h1 centre 7460 & a=$!
on h2 sensor-0 7461 "$first" & b=$!
on h2 sensor-1 7462 "$first" & c=$!
on h3 viewer 7463 "$first" & d=$!
code=0
for process in $a $b $c $d; do wait $process || code=1; done
exit $code"#;

pub(crate) fn example(name: &str) -> PathBuf {
    let build = "cargo build --profile test -p motet-cli --features mesh --examples";
    motet_testkit::example(name, build)
}

/// The centre and the viewer have said what they know.
#[track_caller]
pub(crate) fn all_know(ended: &Output) {
    let said = String::from_utf8_lossy(&ended.stdout);
    let all = format!(
        "{}\n{said}{}",
        ended.status,
        String::from_utf8_lossy(&ended.stderr)
    );
    assert!(ended.status.success(), "{all}");
    assert!(said.contains("six_models: 6 stops, a round of"), "{all}");
    assert!(said.contains("six_models: the viewer waits"), "{all}");
}

#[test]
fn six_models_work_as_processes_of_one_machine() {
    within(patience(), || {
        all_know(&Command::new(example("six_models_linked")).output().unwrap())
    });
}

/// The example on three machines, each by the function `on` of the shell.
pub(crate) fn on_machines(on: &str) -> Command {
    let mut machines = Command::new("unshare");
    machines
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .args(["sh", "-c", &MACHINES.replace("@on@", on)])
        .env("program", example("six_models_linked"));
    machines
}

#[test]
fn six_models_needs_hosts_work_on_three_machines() {
    within(patience(), || {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        RunKey::make(&key).unwrap();
        let on = r#"on() {
            ip netns exec "$1" "$program" "$2" --key "$key" --listen "10.78.0.${1#h}:$3" $4
        }"#;
        let ended = on_machines(on).env("key", &key).output();
        all_know(&ended.unwrap());
    });
}
