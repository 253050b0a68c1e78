//! Two machines to test with: namespaces of this one.

use std::process::Command;

/// Runs a line on the first of two machines. All of it is gone when it ends.
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
cat > /run/netns/shell <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec ip netns exec "$host" unshare --uts --pid --fork --mount-proc --kill-child sh -c "hostname $host; $*"
END
chmod +x /run/netns/shell
until [ "$(cat /sys/class/net/cable/operstate)" = up ]; do sleep 0.02; done
until [ "$(ip netns exec h2 cat /sys/class/net/cable/operstate)" = up ]; do sleep 0.02; done
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

/// What runs a program, to be appended with its arguments, on the machine h1, which has a cable to
/// the machine h2. Their addresses are 10.77.0.1 and 10.77.0.2. The program `/run/netns/shell`
/// starts a command on one of them as ssh does. They are namespaces of this machine, and gone when
/// the program ends. That takes root, `unshare` and `ip`: tests that do so have `needs_hosts` in
/// their names.
///
/// ```no_run
/// let mut command = motet_testkit::two_machines();
/// let said = command.args(["/run/netns/shell", "h2", "hostname"]).output().unwrap();
/// assert_eq!(said.stdout, b"h2\n");
/// ```
#[must_use]
pub fn two_machines() -> Command {
    let mut command = Command::new("unshare");
    command
        .args(NAMESPACES)
        .args(["sh", "-c", MACHINES, "machines"]);
    command
}
