//! Who waits for whom, asked by signals: the example `why`, whose rank 0 is busy until its input
//! ends.

use crate::applications::{launched, program};
use motet_sync::Parker;
use motet_testkit::{mpi_libraries, patience, within};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::time::Duration;

/// The running example.
struct Asked {
    child: Child,
    input: ChildStdin,
    reports: BufReader<ChildStderr>,
}

impl Asked {
    /// Starts it, and waits until rank 0 is busy and all others wait.
    fn start(mut command: Command) -> Asked {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut lines = out.lines().map(|line| line.expect("it can be read"));
        assert!(
            lines.any(|line| line.contains("nobody waits for")),
            "it ended too early"
        );
        let input = child.stdin.take().unwrap();
        let reports = BufReader::new(child.stderr.take().unwrap());
        Asked {
            child,
            input,
            reports,
        }
    }

    /// The next report.
    fn report(&mut self) -> String {
        let mut report = String::new();
        loop {
            let mut line = String::new();
            let bytes = self.reports.read_line(&mut line).unwrap();
            assert!(bytes > 0, "it ended too early: {report}");
            if line.starts_with("motet: who waits") {
                report.clear();
            }
            report += &line;
            if line.contains(LAST) {
                return report;
            }
        }
    }

    /// The first report that is so, of those that this process is asked for: each waits a second
    /// for others, which a busy machine may keep for longer.
    fn answer(&mut self, process: u32, so: impl Fn(&str) -> bool) -> String {
        loop {
            signal("USR1", process);
            let report = self.report();
            if so(&report) {
                return report;
            }
            moment();
        }
    }

    /// Lets it go on to its end; what else it has reported.
    fn end(self) -> String {
        let Asked {
            mut child,
            input,
            mut reports,
        } = self;
        drop(input);
        let mut rest = String::new();
        reports.read_to_string(&mut rest).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
        rest
    }

    /// The processes of the program, which the launcher has started.
    fn processes(&self, program: &Path) -> Vec<u32> {
        let name = program.file_name().unwrap().to_string_lossy().into_owned();
        let is_it = |pid: &u32| {
            let stem = fs::read_to_string(format!("/proc/{pid}/comm"));
            stem.is_ok_and(|stem| stem.trim_end() == name)
        };
        descendants(self.child.id())
            .into_iter()
            .filter(is_it)
            .collect()
    }
}

/// All processes below one.
fn descendants(ancestor: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<u32>();
        let stat = fs::read_to_string(entry.path().join("stat"));
        if let (Ok(pid), Ok(stat)) = (pid, stat) {
            // The name, in brackets, may hold anything.
            let after = stat.rsplit(')').next().unwrap_or_default();
            let parent = after.split_whitespace().nth(1);
            parents.extend(
                parent
                    .and_then(|parent| parent.parse().ok())
                    .map(|parent: u32| (pid, parent)),
            );
        }
    }
    let mut found = vec![ancestor];
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == above)
                .map(|(pid, _)| *pid),
        );
        at += 1;
    }
    found.split_off(1)
}

/// Waits until the next request is not answered with the last report.
fn moment() {
    let _ = Parker::new().park_timeout(Duration::from_millis(1100));
}

fn signal(name: &str, process: u32) {
    let line = format!("kill -{name} {process}");
    let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
    assert!(sent.success(), "{line}: {sent}");
}

const LAST: &str = "nobody waits for: ";

fn check(report: &str, ranks: usize) {
    for words in [
        "motet: who waits for whom",
        &format!("of {ranks} ranks 1 run, {} wait for ranks", ranks - 1),
        "\n  rank 0: runs for ",
        "\n  rank 1: waits in recv(source 0, tag 0) at ",
        "examples/why.rs:",
        "\n  others wait for, and it runs: 0\n",
        &format!("\n  {LAST}{}\n", ranks - 1),
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn sem_g324_a_signal_makes_a_process_tell_who_waits_for_whom() {
    within(patience(), || {
        let mut command = Command::new(program("why"));
        command.env("MOTET_THREADS", "3");
        let mut asked = Asked::start(command);
        signal("USR1", asked.child.id());
        check(&asked.report(), 3);
        assert_eq!(asked.end(), "", "one report for one signal");
    });
}

#[test]
fn sem_g325_it_is_told_again_and_again_without_a_signal() {
    within(patience(), || {
        let mut command = Command::new(program("why"));
        command.env("MOTET_THREADS", "3").env("MOTET_WHY", "0.1");
        let mut asked = Asked::start(command);
        // The first may be of the time before all wait, or while rank 0 naps between its own looks.
        for _ in 0..2 {
            let mut report = asked.report();
            while !report.contains("of 3 ranks 1 run, 2 wait for ranks") {
                report = asked.report();
            }
            check(&report, 3);
        }
        asked.end();
    });
}

#[test]
fn sem_g324_needs_mpi_a_signal_to_the_launcher_or_any_process_is_one_report() {
    for library in mpi_libraries() {
        within(patience(), move || {
            let program = program("why");
            let mut asked = Asked::start(launched(&program, &library, 2, 3));
            let all_answer = |report: &str| !report.contains("not answered");
            // The launcher passes it on to all processes.
            check(&asked.answer(asked.child.id(), all_answer), 6);
            let processes = asked.processes(&program);
            assert_eq!(processes.len(), 3, "{}", library.display());
            for process in processes {
                moment();
                check(&asked.answer(process, all_answer), 6);
            }
            asked.end();
        });
    }
}

#[test]
fn sem_g322_needs_mpi_a_process_that_is_stopped_is_named_and_the_others_are_shown() {
    for library in mpi_libraries() {
        within(patience(), move || {
            let program = program("why");
            let mut asked = Asked::start(launched(&program, &library, 1, 3));
            let is_last = |process: &u32| {
                let variables = fs::read(format!("/proc/{process}/environ")).unwrap();
                variables
                    .split(|byte| *byte == 0)
                    .any(|one| one == b"PMI_RANK=2")
            };
            let mut processes = asked.processes(&program).into_iter();
            let stopped = processes.find(is_last).expect("there are three");
            signal("STOP", stopped);
            let launcher = asked.child.id();
            let report = asked.answer(launcher, |report| report.contains("1 are not known"));
            signal("CONT", stopped);
            assert!(
                report.contains("process 2 (rank 2) has not answered"),
                "{report}"
            );
            asked.end();
        });
    }
}

#[test]
fn sem_g329_the_environment_asks_for_what_imbalance_takes() {
    within(patience(), || {
        let told = |share: &str| {
            let mut command = Command::new(program("why"));
            command
                .env("MOTET_THREADS", "2")
                .env("MOTET_BALANCE", share);
            Asked::start(command).end()
        };
        // Either rank looks at the clock at other moments, so one of them was the longer one.
        let text = told("0.0001%");
        for words in [
            "motet: ",
            " longer than the mean ",
            "would be saved by an even share",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(told("100%"), "");
    });
}

#[test]
fn sem_g329_needs_mpi_process_0_says_it_for_all() {
    for library in mpi_libraries() {
        within(patience(), move || {
            let mut command = launched(&program("why"), &library, 1, 2);
            command.env("MOTET_BALANCE", "0.0001%");
            let text = Asked::start(command).end();
            assert_eq!(
                text.matches("motet: rank ").count(),
                text.lines().count(),
                "{text}"
            );
            assert!(text.contains("would be saved by an even share"), "{text}");
        });
    }
}
