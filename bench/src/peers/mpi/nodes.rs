//! Nodes that are namespaces of this machine: a network, a host name and processes of their own,
//! and a cable to a switch. What MPI sends from one to another goes by TCP over that cable.

use super::{Family, Measured, Mpi};
use crate::peers::workshop::{first_line, printed};
use core_affinity::get_core_ids;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a line on the first of so many nodes, whose launcher reaches the others by a script in
/// place of ssh. The switch is on none of them: a node answers for its addresses on all its
/// devices. All of it is gone when the line ends, or is ended.
const NODES: &str = include_str!("../../../peers/mpi/nodes.sh");

const NAMESPACES: &str = "--net --mount --uts --pid --fork --mount-proc --kill-child";

/// Threads in each of so many processes on each of so many nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeSpread {
    /// Ranks of a process: its threads, or one that has these work for it.
    pub(crate) ranks: usize,
    pub(crate) threads: usize,
    pub(crate) processes: usize,
    pub(crate) nodes: usize,
}

impl NodeSpread {
    /// All processes.
    fn total(self) -> usize {
        self.processes * self.nodes
    }

    /// The processors of each node: nodes share those of the machine, and no two have the same.
    fn cores(self) -> Result<String, String> {
        let all = get_core_ids().unwrap_or_default();
        let own = self.threads * self.processes;
        if all.len() < own * self.nodes {
            return Err(format!(
                "{} nodes of {own} cores are more than the {} cores that they share",
                self.nodes,
                all.len()
            ));
        }
        let nodes = all.chunks(own).take(self.nodes).map(|cores| {
            let cores = cores.iter().map(|core| core.id.to_string());
            cores.collect::<Vec<_>>().join(",")
        });
        Ok(nodes.collect::<Vec<_>>().join(" "))
    }
}

/// Whether this machine can play nodes.
///
/// # Errors
/// What it takes, and what the system says.
pub(crate) fn can_play() -> Result<(), String> {
    let mut command = play(2, "0 0");
    let ended = command.arg("true").stdin(Stdio::null()).output();
    let said = match ended {
        Ok(ended) if ended.status.success() => return Ok(()),
        Ok(ended) => first_line(&ended.stderr),
        Err(error) => format!("unshare does not run: {error}"),
    };
    Err(format!(
        "this machine cannot play several nodes, which takes root, unshare, taskset (util-linux) and ip \
         (iproute2): {said}"
    ))
}

/// What runs a line on the first of so many nodes, each on its processors, but for the line.
fn play(nodes: usize, cores: &str) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(NAMESPACES.split(' '))
        .args(["sh", "-c", NODES, "nodes", &nodes.to_string()])
        .env("MOTET_NODE_CORES", cores);
    command
}

impl Mpi {
    /// The time of a round of motet's own program, as [`run_motet`](Mpi::run_motet) gives it, on
    /// several nodes that are namespaces of this machine.
    pub(crate) fn run_motet_on_nodes(
        &self,
        motet: &Path,
        program: &str,
        spread: NodeSpread,
        budget_us: f64,
    ) -> Result<f64, String> {
        let library = self.library().ok_or("it has not the standard ABI")?;
        let mut command = self.on_nodes(spread, motet)?;
        command
            .args(["bench", "rank-program", program, &budget_us.to_string()])
            .env("MOTET_THREADS", spread.ranks.to_string())
            .env("MOTET_MPI_LIB", library);
        Ok(printed::<Measured>(command, "motet")?
            .of(spread.total())?
            .us)
    }

    /// The line that starts a program on several nodes, but for its arguments.
    fn on_nodes(&self, spread: NodeSpread, program: &Path) -> Result<Command, String> {
        let mut command = play(spread.nodes, &spread.cores()?);
        command.arg(&self.mpiexec);
        match self.family {
            Some(Family::Mpich) => command
                .args(["-launcher", "ssh", "-launcher-exec", "/run/netns/shell"])
                // Namespaces have the same boot: it would take shared memory between them.
                .envs([("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "cable")])
                .envs([("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "cable")]),
            Some(Family::Intel) => command
                .args(["-bootstrap", "ssh", "-bootstrap-exec", "/run/netns/shell"])
                .envs([("I_MPI_FABRICS", "shm:ofi"), ("I_MPI_PIN", "0")])
                .envs([("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "cable")]),
            _ => {
                let name = self.name;
                return Err(format!("nobody knows how {name} starts processes on nodes"));
            }
        };
        let hosts = (1..=spread.nodes).map(|node| format!("h{node}"));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        command
            .args(["-hosts", &hosts, "-ppn", &spread.processes.to_string()])
            .args(["-n", &spread.total().to_string()])
            .arg(program);
        self.in_place(&mut command);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::workshop::output;
    use motet_sync::thread;
    use motet_testkit::mpi_libraries;

    const TWO: NodeSpread = NodeSpread {
        ranks: 1,
        threads: 1,
        processes: 1,
        nodes: 2,
    };

    #[test]
    fn nodes_share_the_cores_and_no_two_have_the_same() {
        let own = thread::cores() / 2;
        if own > 0 {
            let spread = NodeSpread {
                threads: own,
                ..TWO
            };
            let cores = spread.cores().unwrap();
            let mut all: Vec<&str> = cores.split([' ', ',']).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2 * own, "{cores}");
        }
        let many = NodeSpread {
            threads: thread::cores() + 1,
            ..TWO
        };
        assert!(many.cores().unwrap_err().contains("2 nodes of"));
    }

    #[test]
    fn a_machine_that_cannot_play_nodes_says_what_it_takes() {
        match can_play() {
            Ok(()) => {}
            Err(reason) => assert!(reason.contains("takes root, unshare"), "{reason}"),
        }
    }

    /// What a program says on two nodes.
    fn on_two(mpi: &Mpi, program: &str, arguments: &[&str]) -> String {
        let mut command = mpi.on_nodes(TWO, Path::new(program)).unwrap();
        let ended = output({
            command.args(arguments);
            command
        });
        let ended = ended.unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{said}{err}");
        said
    }

    #[test]
    fn messages_between_nodes_needs_mpi_needs_hosts_needs_cc_go_over_their_cable() {
        let prefixes = mpi_libraries().into_iter();
        let prefixes = prefixes.filter_map(|file| Some(file.parent()?.parent()?.to_owned()));
        let (all, _) = Mpi::all(&prefixes.collect::<Vec<_>>());
        let with_abi = all.iter().filter(|mpi| mpi.library().is_some());
        for mpi in with_abi.filter(|_| thread::cores() > 1) {
            let both = on_two(mpi, "sh", &["-c", "echo $(hostname) $(taskset -pc $$)"]);
            let mut lines: Vec<&str> = both.lines().collect();
            lines.sort_unstable();
            assert!(lines.len() == 2, "{both}");
            assert!(
                lines[0].starts_with("h1 ") && lines[1].starts_with("h2 "),
                "{both}"
            );
            let cores: Vec<_> = lines.iter().map(|line| line.rsplit(' ').next()).collect();
            assert_ne!(cores[0], cores[1]);
            // Twenty rounds of 100,000 numbers, at least, come to each node.
            let script =
                "\"$@\"; echo \"$(hostname) $(cat /sys/class/net/cable/statistics/rx_bytes)\"";
            let program = mpi.file("collectives");
            let words = ["allreduce", "100000", "50000"];
            let words = [&["-c", script, "sh", &program], &words[..]].concat();
            let said = on_two(mpi, "sh", &words);
            assert!(said.lines().any(|line| line.starts_with('{')), "{said}");
            for node in ["h1 ", "h2 "] {
                let bytes = said.lines().find_map(|line| line.strip_prefix(node));
                let bytes: u64 = bytes.unwrap().parse().unwrap();
                assert!(bytes > 5_000_000, "{node}{bytes}");
            }
        }
    }
}
