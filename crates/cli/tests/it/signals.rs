//! Interrupts of long work, signals that stay ignored, and limits of the system.

use std::fmt::Write as _;
use std::process::Child;
use std::time::{Duration, Instant};

use motet_sync::Parker;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{ProgramFolder, Run, by_shell, three_groups};

/// So long a program may take to end that was asked to. The work that is interrupted takes hours.
const GUARD: Duration = Duration::from_secs(60);

/// Sequences of which all pairs take hours to align.
fn sequences() -> String {
    let mut text = String::new();
    let mut state = 1_u32;
    for name in 0..3000 {
        let _ = writeln!(text, ">s{name}");
        for _ in 0..3000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push(char::from(b"ACGT"[(state >> 30) as usize]));
        }
        text.push('\n');
    }
    text
}

/// A mask of signals of a process, as its status has it.
fn mask(process: &Child, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|mask| u64::from_str_radix(mask.trim_start_matches(':').trim(), 16).ok())
        .unwrap_or_default()
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
}

fn pause() {
    let _ = Parker::new().park_timeout(Duration::from_millis(5));
}

/// Waits until the process has a handler of its own for a signal.
fn wait_for_handler(process: &mut Child, number: u32) {
    while mask(process, "SigCgt") & 1 << (number - 1) == 0 {
        assert!(process.try_wait().unwrap().is_none(), "it has ended");
        pause();
    }
}

/// Waits until the program has worked for this many ticks of a processor since now.
fn wait_for_work(process: &mut Child, ticks: u64) {
    let used = |process: &Child| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|f| f.parse::<u64>().unwrap())
            .sum::<u64>()
    };
    let begin = used(process);
    while used(process) < begin + ticks {
        assert!(process.try_wait().unwrap().is_none(), "it has ended");
        pause();
    }
}

#[track_caller]
fn end(mut process: Child) -> Run {
    let begin = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if begin.elapsed() > GUARD {
            let _ = process.kill();
            panic!("it goes on though it was asked to end");
        }
        pause();
    }
    process.wait_with_output().unwrap().into()
}

#[test]
fn sem_g505_an_interrupt_ends_alignments_long_before_their_end() {
    let place = ProgramFolder::with("long.fa", sequences());
    for (arguments, number) in [
        ("distance long.fa --out d.npy -t 2", Signal::INT),
        (
            "distance long.fa --out d.npy -t 1 --checkpoint kept",
            Signal::TERM,
        ),
        ("scale long.fa -t 2", Signal::HUP),
        ("cluster long.fa -k 5 -t 1", Signal::TERM),
    ] {
        let mut process = by_shell(&place, ":", arguments).spawn().unwrap();
        wait_for_handler(&mut process, 2);
        wait_for_work(&mut process, 20);
        signal(&process, number);
        let run = end(process);
        let told = "motet: cancelled: nothing was written\n";
        assert_eq!((run.code, run.err.as_str()), (130, told), "{arguments}");
    }
    assert!(!place.path("d.npy").exists());
}

#[test]
fn sem_g505_a_second_interrupt_ends_the_program_at_once() {
    // One step of the fit takes seconds, and only then it looks for the first interrupt.
    let text: String = sequences()
        .lines()
        .take(1800)
        .fold(String::new(), |text, line| text + line + "\n");
    let place = ProgramFolder::with("long.fa", text);
    let mut process = by_shell(&place, ":", "hmm fit long.fa -s 100 -t 1")
        .spawn()
        .unwrap();
    wait_for_handler(&mut process, 2);
    wait_for_work(&mut process, 20);
    signal(&process, Signal::INT);
    // At once it is the first, told twice.
    signal(&process, Signal::TERM);
    let _ = Parker::new().park_timeout(Duration::from_millis(300));
    assert!(process.try_wait().unwrap().is_none(), "it has ended");
    signal(&process, Signal::INT);
    let run = end(process);
    // Nobody has come to say that it was cancelled.
    assert_eq!((run.code, run.err.as_str()), (130, ""));
}

#[test]
fn sem_g506_a_signal_that_was_ignored_stays_ignored() {
    let place = ProgramFolder::with("long.fa", sequences());
    let arguments = "distance long.fa --out d.npy -t 1";
    let mut process = by_shell(&place, "trap '' HUP", arguments).spawn().unwrap();
    wait_for_handler(&mut process, 2);
    assert_eq!(mask(&process, "SigIgn") & 1, 1, "SIGHUP is not ignored");
    signal(&process, Signal::HUP);
    wait_for_work(&mut process, 20);
    signal(&process, Signal::INT);
    assert_eq!(end(process).code, 130);
}

#[test]
fn sem_g506_a_supervised_program_ignores_what_its_launcher_was_started_to_ignore() {
    let place = ProgramFolder::new();
    let supervised = "supervise -- sh -c 'kill -HUP $PPID; kill -HUP $$; echo alive'";
    let process = by_shell(&place, "trap '' HUP", supervised).spawn().unwrap();
    let run = end(process);
    assert_eq!((run.code, run.out.as_str()), (0, "alive\n"), "{}", run.err);
}

#[test]
fn sem_g507_a_file_that_grows_too_large_is_told() {
    let text = three_groups() + &"1,2\n3,4\n5,7\n".repeat(2000);
    let place = ProgramFolder::with("points.csv", text);
    let process = by_shell(&place, "ulimit -f 4", "cluster points.csv -k 2 --out out").spawn();
    let run = end(process.unwrap());
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(
        run.err.starts_with("motet: cannot write out/labels.csv: "),
        "{}",
        run.err
    );
    assert!(!place.path("out").exists(), "something is left");
}
