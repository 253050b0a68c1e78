//! The experiments as a user runs them; what they measure is tested where they are.

use crate::program::{ProgramFolder, Run};
use crate::run::started;
use motet_bench::measuring::{Effort, MeasuringConfig, Setting};
use motet_bench::{RowSet, Selection};
use motet_testkit::{data, mpi_libraries};
use serde_json::Value;
use std::ops::ControlFlow;
use std::process::Stdio;

fn bench(arguments: &str) -> Vec<Value> {
    let out = ProgramFolder::new()
        .run(&format!("bench {arguments} --json"))
        .quiet_success();
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn stages_give_one_object_with_every_field() {
    let rows = bench(
        "stages --pattern exchange --mode rendezvous --parallel 2 --units 1 --stages 500 --runs 3",
    );
    let row = rows[0].as_object().unwrap();
    assert_eq!(rows.len(), 1);
    let fields: Vec<&str> = row.keys().map(String::as_str).collect();
    let mut expected = "pattern mode parallel threads units unit_us stages overhead_us \
                        overhead_min_us overhead_max_us ideal_us roundtrip_us spawn_us runs"
        .split_whitespace()
        .collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(
        (&row["pattern"], &row["mode"]),
        (&"exchange".into(), &"rendezvous".into())
    );
    assert_eq!((&row["parallel"], &row["runs"]), (&2.into(), &3.into()));
    let time = |field: &str| row[field].as_f64().unwrap();
    assert!(time("overhead_min_us") <= time("overhead_us"));
    assert!(time("overhead_us") <= time("overhead_max_us"));
    assert!(time("ideal_us") > 0.0 && time("unit_us") > 0.0 && time("spawn_us") > 0.0);
}

#[test]
fn lists_measure_every_combination_that_is_defined() {
    let rows = bench("stages --parallel 1,2 --units 0 --stages 100 --runs 1");
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {} {}", row["mode"], row["pattern"], row["parallel"]))
        .collect();
    assert_eq!(names.len(), 16, "{names:?}");
    assert!(!names.iter().any(|name| name.contains("rendezvous\" \"two")));
    assert!(
        !names
            .iter()
            .any(|name| name.contains("spawned\" \"exchange-"))
    );
}

#[test]
fn a_table_has_a_heading_and_a_line_per_row() {
    let out = ProgramFolder::new()
        .run("bench soak --parallel 1,2 --stages 1000")
        .quiet_success();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(
        lines[0].contains("stages") && lines[2].contains("1,000"),
        "{out}"
    );
    let width = |line: &str| line.chars().count();
    assert!(
        lines.iter().all(|line| width(line) == width(lines[0])),
        "{out}"
    );
}

#[test]
fn idle_and_oversubscribed_run() {
    assert!(bench("idle")[0]["watched_ms"].as_f64().unwrap() >= 1000.0);
    let row = &bench("oversubscribed --busy 1 --runs 1")[0];
    assert!(row["progress"].as_f64().unwrap() > 0.0);
}

#[test]
fn core_gives_one_object_per_row_with_every_field() {
    let rows = bench("core --quick --runs 1 --rows items;handlers");
    let row = rows[0].as_object().unwrap();
    let mut fields: Vec<&str> = row.keys().map(String::as_str).collect();
    fields.sort_unstable();
    let mut expected =
        "row unit motet motet_range limit limit_name peers ratios absent bar holds runs roundtrip_us two_cores sums_per_cycle clock_ghz disturbed"
            .split_whitespace()
            .collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!(row["row"], "waiting handlers, one port");
    let row = rows[1].as_object().unwrap();
    assert_eq!(row["row"], "join of two items");
    assert!(row["motet"].as_f64().unwrap() > 0.0);
    assert!(row["peers"]["two receives"].as_f64().unwrap() > 0.0);
    assert!(row["holds"].is_boolean() && row["limit"].is_null());
    assert_eq!(rows.len(), 2, "{rows:?}");
}

#[test]
fn core_soaks_for_as_long_as_one_says() {
    let row = &bench("core --soak 0.2")[0];
    assert!(row["seconds"].as_f64().unwrap() >= 0.2);
    assert!(row["exclusive"].as_u64() == row["concurrent"].as_u64().map(|handlers| 4 * handlers));
}

#[test]
fn core_says_what_it_leaves_out_and_why() {
    let run = ProgramFolder::new().run("bench core --quick --runs 1 --rows UTS --data nowhere");
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.contains("UTS T1 left out: nowhere"), "{}", run.err);
}

#[test]
fn ranks_give_the_objects_of_core_and_say_which_peer_is_absent() {
    let place = ProgramFolder::new();
    let mut command =
        place.command("bench ranks --quick --runs 1 --mpi nowhere --go no-go --json --rows");
    // A million ranks take long where nothing is optimised.
    command.arg("barrier,;memory of 10000 ");
    let run: Run = command.stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(run.code, 0, "{}", run.err);
    let rows: Vec<Value> = run
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = rows
        .iter()
        .map(|row| row["row"].as_str().unwrap())
        .collect();
    let expected = ["memory of 10000 ranks", "barrier, P = 2", "barrier, P = 8"];
    assert_eq!(names, expected);
    assert!(rows.iter().all(|row| row["motet"].as_f64().unwrap() > 0.0));
    assert!(
        run.err.contains("nowhere/bin/mpicc left out"),
        "{}",
        run.err
    );
}

#[test]
fn needs_mpi_rows_over_processes_run_beside_their_peers() {
    let libraries = mpi_libraries();
    let prefixes = libraries.iter().filter_map(|path| path.parent()?.parent());
    // Some installations can run programs and build none.
    let prefixes = prefixes.filter(|prefix| prefix.join("bin/mpicc").is_file());
    let mpi: Vec<_> = prefixes.map(ToOwned::to_owned).collect();
    let installations = mpi.len();
    // A program in C for each row with one rank in a process, and two of the library's own calls.
    let rows = [
        "exchange, t = ",
        "barrier, t = ",
        "allreduce:1, t = ",
        "allreduce:4096, t = ",
        "alltoall:1024, t = 1, m = 2, its own call",
    ];
    let setting = Setting::new(MeasuringConfig {
        effort: Effort::Trial,
        go: "no-such-go".into(),
        mpi,
        motet: Some(env!("CARGO_BIN_EXE_motet").into()),
        ..MeasuringConfig::default()
    });
    let selection = Selection {
        rows: rows.map(String::from).to_vec(),
        runs: None,
    };
    let (mut records, mut missing) = (Vec::new(), Vec::new());
    let tell = |outcome| {
        match outcome {
            Ok(record) => records.push(record),
            Err(absent) => missing.push(absent),
        }
        ControlFlow::Continue(())
    };
    RowSet::Ranks.measure(&setting, &selection, |_| (), tell);
    assert_eq!(records.len(), 9 * installations, "{missing:?}");
    for record in &records {
        assert!(record.motet > 0.0 && record.absent.is_empty(), "{record:?}");
        assert!(record.peers.values().all(|&time| time > 0.0), "{record:?}");
    }
}

#[test]
fn sem_g256_what_cannot_be_measured_is_refused() {
    for (arguments, words) in [
        (
            "stages --pattern two-shifts --mode rendezvous",
            "two-shifts is a spawned pattern",
        ),
        (
            "stages --pattern exchange-two-shifts --mode spawned",
            "use --mode rendezvous",
        ),
        ("stages --pattern ring", "possible values: pipeline"),
        ("stages --parallel 0", "--parallel"),
        ("stages --runs none", "--runs"),
        ("soak --stages 0", "--stages"),
        ("quality --data nowhere", "nowhere"),
        ("annealing --clusters 0", "--clusters"),
        ("oversubscribed --busy -1", "-1"),
        ("core --runs 0", "--runs"),
        ("core --soak=-1", "above 0"),
        ("core --soak ten", "a number of seconds"),
        ("core --soak 1 --go go", "--go"),
        ("ranks --runs 0", "--runs"),
        ("oversubscribed --busy 99999", "--busy"),
        ("stages --threads 999999 --stages 1", "--threads"),
        ("annealing --threads 1,999999", "--threads"),
        ("quality --threads 999999 --data nowhere", "--threads"),
        ("quality --pairs --restarts 3 --data nowhere", "--restarts"),
    ] {
        ProgramFolder::new()
            .run(&format!("bench {arguments}"))
            .refusal(&[words]);
    }
}

#[test]
fn the_help_of_an_experiment_says_what_it_measures() {
    let help = ProgramFolder::new()
        .run("bench stages --help")
        .quiet_success();
    for words in ["T(1)", "two-shifts", "roundtrip_us", "Examples"] {
        assert!(help.contains(words), "{words}");
    }
}

#[test]
fn annealing_says_why_there_is_no_peer() {
    let run = ProgramFolder::new()
        .run("bench annealing --points 2000 -k 4 --runs 1 --whole-runs 1 --python no-python");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("no-python does not run"), "{}", run.err);
    assert_eq!(run.out.lines().count(), 7, "{}", run.out);
}

#[test]
fn needs_data_quality_compares_with_k_means() {
    let row = &bench(&format!("quality --sets iris --data {}", data().display()))[0];
    assert_eq!(row["labelled"][0]["set"], "iris");
    assert!(row["labelled"][0]["inertia_ratio"].as_f64().unwrap() <= 1.0 + 1e-9);
}

#[test]
fn the_list_names_every_experiment() {
    let rows = bench("list");
    let keys: Vec<&str> = rows
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert!(keys.contains(&"E01") && keys.contains(&"E21"), "{keys:?}");
    let table = ProgramFolder::new().run("bench list").quiet_success();
    assert!(table.contains("exchange-latency"), "{table}");
}

#[test]
fn a_run_of_the_suite_leaves_rows_and_the_machine() {
    let place = ProgramFolder::new();
    let run = place.run("bench run E01 drawings --trial --vs none --out out");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(place.names("out"), ["machine.json", "rows.jsonl"]);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(
        lines[0].starts_with("E01") && lines[1].starts_with("E13"),
        "{}",
        run.out
    );
    assert_eq!(lines[2], "the rows are in out");
    let rows: Vec<Value> = place
        .read("out/rows.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for row in &rows {
        assert_eq!(row["schema"], 1);
        let measured = row["median"].is_f64() && row["runs"] == 1;
        assert!(measured || row["absent"].is_string(), "{row}");
    }
    let machine: Value = serde_json::from_str(&place.read("out/machine.json")).unwrap();
    assert_eq!(machine["versions"]["motet"], env!("CARGO_PKG_VERSION"));

    // Once more, as objects on standard output: the rows take the place of the earlier ones.
    let out = place
        .run("bench run e01 --trial --vs none --out out --json")
        .quiet_success();
    let new = out.lines().count();
    let all = place.read("out/rows.jsonl").lines().count();
    assert_eq!(
        (new, all),
        (
            rows.iter().filter(|row| row["experiment"] == "E01").count(),
            rows.len()
        )
    );
}

#[test]
fn what_the_suite_cannot_do_is_one_line() {
    let place = ProgramFolder::new();
    let run = place.run("bench run E99 --trial");
    assert_eq!(run.code, 2);
    assert!(
        run.err.starts_with("motet: there is no experiment E99"),
        "{}",
        run.err
    );
    assert!(run.err.contains("see motet bench list") && run.err.lines().count() == 1);
    let run = place.run("bench run E01 --trial --vs tokio,nonsense");
    assert_eq!(run.code, 2);
    let told = run.err.contains("no peer nonsense") && run.err.contains("rayon");
    assert!(told && run.err.lines().count() == 1, "{}", run.err);
    place
        .run("bench run E01 --trial --vs none --out out")
        .quiet_success();
    let run = place.run("bench run E13 --trial --vs none --pinned no --out out");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("holds trial, bound rows"), "{}", run.err);
    place.write("out/rows.jsonl", "{\"schema\":7}\n");
    let run = place.run("bench run E01 --trial --out out");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("rows have form 7 there"), "{}", run.err);
    assert_eq!(place.read("out/rows.jsonl"), "{\"schema\":7}\n");
}

/// The programs of steps of annealing: by ranks, by a loop of ours and by rayon.
const ANNEALING: [&str; 3] = [
    "pairwise:300:3",
    "pairwise-by-loop:300:3:2",
    "pairwise-by-rayon:300:3:2",
];

/// What a program of ranks has told: its processes, after a look at its time.
fn processes(line: &str) -> u64 {
    let told: Value = serde_json::from_str(line).unwrap();
    assert!(told["us"].as_f64().unwrap() > 0.0, "{line}");
    told["processes"].as_u64().unwrap()
}

#[test]
fn programs_of_ranks_tell_the_time_of_a_round() {
    for program in ANNEALING {
        let out = ProgramFolder::new().run(&format!("bench rank-program {program} 100"));
        assert_eq!(processes(&out.quiet_success()), 1);
    }
    let refused = ProgramFolder::new().run("bench rank-program pairwise:300 100");
    assert!(
        refused.err.contains("pairwise:ROWS:CLUSTERS"),
        "{}",
        refused.err
    );
}

#[test]
fn needs_mpi_steps_of_annealing_cross_processes() {
    for library in mpi_libraries() {
        for program in ANNEALING {
            let line = [
                env!("CARGO_BIN_EXE_motet"),
                "bench",
                "rank-program",
                program,
                "100",
            ];
            let out = started(&library, "-t 1 -m 2 --quiet", &line).quiet_success();
            assert_eq!(processes(&out), 2, "{program}");
        }
    }
}
