//! Several programs of one world: the launchers' form with a colon between them.
//!
//! ```text
//!  mpiexec …  -n 1 -env MOTET_PROGRAM 0 … ocean  :  -n 2 -env MOTET_PROGRAM 1 … air
//! ```
//!
//! Launchers fill one node after the other, so the parts are named again for each node. Every node
//! gets as many processes of each program as the others.

use super::{Family, Launch, THREADS};
use std::ffi::OsString;
use std::path::Path;

/// One of several programs that are one world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramPart {
    /// Ranks of each of its processes, one thread each.
    pub threads: usize,
    /// Its processes on each node.
    pub processes: usize,
    /// The program and its arguments.
    pub program: Vec<OsString>,
}

/// Tells a process which of several programs it runs, from 0.
const PROGRAM: &str = "MOTET_PROGRAM";
/// Tells it the name of that.
const NAME: &str = "MOTET_PROGRAM_NAME";

impl ProgramPart {
    /// Its name: that of the program's file.
    #[must_use]
    pub fn name(&self) -> String {
        let file = self.program.first().map(Path::new);
        let stem = file.and_then(Path::file_stem).unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// What its processes need to know.
    fn variables(&self, number: usize) -> [(&'static str, String); 3] {
        [
            (THREADS, self.threads.to_string()),
            (PROGRAM, number.to_string()),
            (NAME, self.name()),
        ]
    }
}

impl Launch {
    /// What follows the launcher's own options when there are several programs.
    pub(super) fn several(&self, first: &[OsString]) -> Vec<OsString> {
        let first = ProgramPart {
            threads: self.threads,
            processes: self.processes,
            program: first.to_vec(),
        };
        let mut line: Vec<OsString> = Vec::new();
        for _ in 0..self.nodes {
            for (number, part) in [&first].into_iter().chain(&self.others).enumerate() {
                if !line.is_empty() {
                    line.push(":".into());
                }
                line.extend(["-n".into(), part.processes.to_string().into()]);
                line.extend(self.told(&part.variables(number)));
                line.extend(self.under.iter().chain(&part.program).cloned());
            }
        }
        line
    }

    /// The words that give variables to the processes of one program.
    fn told(&self, variables: &[(&str, String)]) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if self.family == Family::Other {
            // The standard has no option for it.
            words.push("env".into());
        }
        for (name, value) in variables {
            match self.family {
                Family::Other => words.push(format!("{name}={value}").into()),
                Family::Mpich | Family::Intel => {
                    words.extend(["-env".into(), name.into(), value.into()]);
                }
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coupled(family: Family, nodes: usize) -> Launch {
        let air = ProgramPart {
            threads: 1,
            processes: 2,
            program: vec!["bin/air.sh".into(), "--cold".into()],
        };
        Launch {
            threads: 3,
            nodes,
            under: vec!["watch".into(), "--".into()],
            others: vec![air],
            ..Launch::new(family, "/m/lib/libmpi_abi.so.1", "/m/bin/mpiexec")
        }
    }

    #[test]
    fn sem_g306_each_program_has_its_processes_and_is_told_which_it_is() {
        let line = coupled(Family::Mpich, 1).shell_line(&["./ocean".into(), "x".into()]);
        assert_eq!(
            line,
            "/m/bin/mpiexec -ppn 3 -genv MOTET_MPI_LIB /m/lib/libmpi_abi.so.1 \
             -n 1 -env MOTET_THREADS 3 -env MOTET_PROGRAM 0 -env MOTET_PROGRAM_NAME ocean \
             watch -- ./ocean x : \
             -n 2 -env MOTET_THREADS 1 -env MOTET_PROGRAM 1 -env MOTET_PROGRAM_NAME air \
             watch -- bin/air.sh --cold"
        );
        let other = coupled(Family::Other, 1).shell_line(&["ocean".into()]);
        let ocean = "-n 1 env MOTET_THREADS=3 MOTET_PROGRAM=0 MOTET_PROGRAM_NAME=ocean \
                     watch -- ocean : -n 2 env ";
        assert!(other.contains(ocean), "{other}");
    }

    #[test]
    fn sem_g306_every_node_gets_processes_of_every_program() {
        let launch = coupled(Family::Intel, 2);
        assert_eq!(launch.total(), 6);
        let line = launch.shell_line(&["ocean".into()]);
        let programs = line.split(" : ").map(|part| part.rsplit(' ').next());
        let programs: Vec<&str> = programs.flatten().collect();
        assert_eq!(programs, ["ocean", "--cold", "ocean", "--cold"], "{line}");
        let script = launch.batch_script(&["ocean".into()]);
        assert!(script.contains("--ntasks-per-node=3\n"), "{script}");
        assert!(script.contains("--cpus-per-task=3\n"), "{script}");
    }

    #[test]
    fn sem_g306_processes_are_bound_when_there_is_room_for_the_widest() {
        for (cores, bound) in [(9, true), (8, false)] {
            let launch = Launch {
                cores,
                ..coupled(Family::Mpich, 1)
            };
            let line = launch.shell_line(&["ocean".into()]);
            assert_eq!(line.contains("-bind-to core:3"), bound, "{line}");
        }
    }
}
