//! What the method promises, with readings of load that are made up.

use super::*;
use crate::measuring::load::Reading;
use crate::measuring::row::{Row, RowOutcome};
use crate::measuring::{Point, Quantity};
use std::cell::RefCell;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::rc::Rc;

/// Readings in which others have this share of one of two processors during each attempt in turn,
/// the last again and again.
#[derive(Debug)]
struct Others {
    shares: Vec<f64>,
    reads: usize,
    wall: Duration,
    busy: Duration,
}

impl Watch for Others {
    fn read(&mut self) -> Option<Reading> {
        // Two readings frame an attempt.
        if self.reads % 2 == 1 {
            let second = Duration::from_secs(1);
            self.wall += second;
            let at = (self.reads / 2).min(self.shares.len() - 1);
            self.busy += second.mul_f64(self.shares[at]);
        }
        self.reads += 1;
        Some(Reading {
            wall: self.wall,
            own: Duration::ZERO,
            busy: self.busy,
            cores: 2,
        })
    }
}

/// What was told.
#[derive(Default)]
struct Told {
    cases: usize,
    disturbed: Vec<bool>,
    stop_after: Option<Rc<RefCell<usize>>>,
}

impl Listener for Told {
    fn case(&mut self, at: usize, of: usize, _: &Case) {
        assert!(at < of);
        self.cases += 1;
    }

    fn disturbed(&mut self, _: &Case, _: f64, again: bool) {
        self.disturbed.push(again);
    }

    fn cancelled(&self) -> bool {
        let Some(left) = &self.stop_after else {
            return false;
        };
        let mut left = left.borrow_mut();
        *left = left.saturating_sub(1);
        *left == 0
    }
}

fn measurer(shares: &[f64], warm: usize) -> Measurer {
    Measurer {
        method: MeasuringMethod {
            budget: Duration::from_secs(60),
            limit: Duration::MAX,
            least: 3,
            most: 3,
            warm,
            long: Duration::MAX,
            watched: true,
        },
        watch: Box::new(Others {
            shares: shares.to_vec(),
            reads: 0,
            wall: Duration::ZERO,
            busy: Duration::ZERO,
        }),
    }
}

impl Measurer {
    /// As many rounds as it wants.
    fn measure(&mut self, cases: Vec<Case>, told: &mut Told) -> (CasePlan, Result<(), Stop>) {
        let mut plan = CasePlan::new("E99", cases);
        let mut ended = Ok(());
        while ended.is_ok() && self.wants(&plan) {
            ended = self.round(&mut plan, told);
        }
        (plan, ended)
    }

    fn rows(&mut self, cases: Vec<Case>, told: &mut Told) -> Vec<Row> {
        let (plan, ended) = self.measure(cases, told);
        ended.unwrap();
        plan.rows()
    }
}

const TIME: Quantity = Quantity::new("time", "us");

/// A case whose two series say in which order they were asked, and give rising values.
fn case(asked: &Rc<RefCell<String>>) -> Case {
    let series = |name: char| {
        let (asked, mut value) = (Rc::clone(asked), 0.0);
        move || {
            asked.borrow_mut().push(name);
            value += 1.0;
            Ok(vec![value])
        }
    };
    Case::new(Point::new().with("n", 1), &[TIME])
        .with("motet", series('m'))
        .with("peer", series('p'))
}

fn measured(row: &Row) -> (f64, f64, f64, usize) {
    match row.outcome {
        RowOutcome::Measured {
            median,
            least,
            most,
            runs,
        } => (median, least, most, runs),
        RowOutcome::Absent { .. } => panic!("{row:?}"),
    }
}

#[test]
fn rounds_go_through_all_cases_after_a_run_for_nothing() {
    let (asked, mut told) = (Rc::default(), Told::default());
    let cases = vec![case(&asked), case(&asked)];
    let rows = measurer(&[0.0], usize::MAX).rows(cases, &mut told);
    // A run for nothing comes before the first round of each case.
    assert_eq!(*asked.borrow(), "mpmpmpmp".to_owned() + "mpmp" + "mpmp");
    assert_eq!((rows.len(), told.cases), (4, 6));
    // The first value was for nothing.
    assert!(rows.iter().all(|row| measured(row) == (3.0, 2.0, 4.0, 3)));
    let sane = |row: &Row| !row.disturbed && row.experiment == "E99";
    assert!(rows.iter().all(sane));
    let series: Vec<&str> = rows.iter().map(|row| row.series.as_str()).collect();
    assert_eq!(series, ["motet", "peer", "motet", "peer"]);
}

#[test]
fn long_runs_for_nothing_count_unless_they_are_disturbed() {
    for (shares, runs, first) in [(&[0.0][..], "mpmpmp", 1.0), (&[0.9, 0.0], "mpmpmpmp", 2.0)] {
        let (asked, mut told) = (Rc::default(), Told::default());
        let mut measurer = measurer(shares, usize::MAX);
        measurer.method.long = Duration::ZERO;
        let rows = measurer.rows(vec![case(&asked)], &mut told);
        assert_eq!(*asked.borrow(), runs);
        let rows = rows.iter().map(measured);
        assert!(rows.eq([(first + 1.0, first, first + 2.0, 3); 2]));
    }
}

#[test]
fn a_disturbed_round_is_measured_again() {
    // The first of three rounds is disturbed; when it is again, the attempt with less of it counts.
    for (shares, told_of, first) in [
        (&[0.0][..], &[][..], 1.0),
        (&[0.9, 0.0], &[true], 2.0),
        (&[0.9, 0.5, 0.0], &[true, false], 2.0),
        (&[0.5, 0.9, 0.0], &[true, false], 1.0),
    ] {
        let (asked, mut told) = (Rc::default(), Told::default());
        let rows = measurer(shares, 0).rows(vec![case(&asked)], &mut told);
        let attempts = 3 + usize::from(!told_of.is_empty());
        assert_eq!(asked.borrow().len(), attempts * 2, "{shares:?}");
        assert_eq!(told.disturbed, told_of, "{shares:?}");
        let values = rows.iter().map(measured);
        let (least, runs): (Vec<f64>, Vec<usize>) = values.map(|m| (m.1, m.3)).unzip();
        assert_eq!((least, runs), (vec![first; 2], vec![3; 2]), "{shares:?}");
    }
}

#[test]
fn rows_say_of_what_others_had_too_much_over_all_rounds() {
    // Others' share of both processors is half of that of one.
    for (shares, marked) in [
        (&[0.9, 0.5, 0.0][..], true),
        (&[0.28, 0.26, 0.0], false),
        (&[0.2], true),
        (&[0.1], false),
    ] {
        let (asked, mut told) = (Rc::default(), Told::default());
        let rows = measurer(shares, 0).rows(vec![case(&asked)], &mut told);
        assert!(rows.iter().all(|row| row.disturbed == marked), "{shares:?}");
    }
}

#[test]
fn who_cannot_run_is_not_asked_again() {
    let asked = Rc::new(RefCell::new(0));
    let count = Rc::clone(&asked);
    let case = Case::new(Point::new(), &[TIME])
        .with("gone", move || {
            *count.borrow_mut() += 1;
            Err::<f64, _>("there is none".to_owned())
        })
        .with("odd", || Ok(vec![1.0, 2.0]))
        .with("wrong", || Ok(vec![f64::NAN]))
        .absent("never", "not on this machine");
    let rows = measurer(&[0.0], usize::MAX).rows(vec![case], &mut Told::default());
    assert_eq!(*asked.borrow(), 1);
    let reasons: Vec<&str> = rows
        .iter()
        .map(|row| match &row.outcome {
            RowOutcome::Absent { absent } => absent.as_str(),
            RowOutcome::Measured { .. } => panic!("{row:?}"),
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "there is none",
            "it gives 2 values, not 1",
            "it gives NaN, which is no number",
            "not on this machine"
        ]
    );
}

#[test]
fn a_spent_budget_still_measures_once() {
    let (asked, mut told) = (Rc::default(), Told::default());
    let mut measurer = measurer(&[0.9], 0);
    measurer.method.budget = Duration::ZERO;
    let rows = measurer.rows(vec![case(&asked), case(&asked)], &mut told);
    // One round, and no time for another attempt: the rows say so.
    assert_eq!(*asked.borrow(), "mpmp");
    assert_eq!(told.disturbed, [false, false]);
    assert!(rows.iter().all(|row| row.disturbed && measured(row).3 == 1));
}

#[test]
fn rounds_beyond_the_least_have_to_fit_the_budget() {
    let mut measurer = measurer(&[0.0], 0);
    let mut plan = CasePlan::new("E99", Vec::new());
    measurer.method.most = 5;
    // Each round took the same: the next one would be over the budget, or over twice the budget.
    for (rounds, seconds, wanted) in [
        (0, 0, true),
        (1, 59, true),
        (1, 61, false),
        (2, 79, true),
        (2, 81, false),
        (3, 44, true),
        (3, 46, false),
        (5, 1, false),
    ] {
        plan.rounds = rounds;
        plan.spent = Duration::from_secs(seconds);
        plan.last = plan.spent / u32::try_from(rounds.max(1)).unwrap();
        assert_eq!(measurer.wants(&plan), wanted, "{rounds} in {seconds} s");
    }
}

#[test]
fn cancelling_leaves_what_was_measured_before_it() {
    let asked = Rc::default();
    let mut told = Told {
        stop_after: Some(Rc::new(RefCell::new(7))),
        ..Told::default()
    };
    let cases = vec![case(&asked), case(&asked)];
    let (plan, stop) = measurer(&[0.0], 0).measure(cases, &mut told);
    assert!(matches!(stop, Err(Stop::Cancelled)));
    assert_eq!(*asked.borrow(), "mpmp".to_owned() + "mp");
    let runs: Vec<usize> = plan.rows().iter().map(|row| measured(row).3).collect();
    assert_eq!(runs, [2, 2, 1, 1], "of the second round the first case");
}

/// A program that computes and is not of this process's family: the shell that has started it has
/// ended.
#[cfg(target_os = "linux")]
struct Load(String);

#[cfg(target_os = "linux")]
impl Load {
    fn start() -> Load {
        let script = "while :; do :; done >/dev/null 2>&1 & echo $!";
        let told = Command::new("sh").args(["-c", script]).output().unwrap();
        Load(String::from_utf8(told.stdout).unwrap().trim().to_owned())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Load {
    fn drop(&mut self) {
        let script = format!("kill -9 {}", self.0);
        // It ends with the machine if it cannot be ended here.
        let _ = Command::new("sh").args(["-c", &script]).status();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_load_that_somebody_starts_is_noticed_and_said() {
    let _load = Load::start();
    let mut measurer = Measurer::new(MeasuringMethod {
        budget: Duration::from_secs(60),
        limit: Duration::MAX,
        least: 1,
        most: 1,
        warm: 0,
        long: Duration::MAX,
        watched: true,
    });
    let waits = || {
        std::thread::park_timeout(Duration::from_millis(500));
        Ok(vec![1.0])
    };
    let mut told = Told::default();
    let case = Case::new(Point::new(), &[TIME]).with("motet", waits);
    let rows = measurer.rows(vec![case], &mut told);
    assert_eq!(
        told.disturbed,
        [true, false],
        "once more, and then it is said"
    );
    assert!(rows.iter().all(|row| row.disturbed));
}

#[test]
fn a_run_over_a_parameter_has_a_row_for_each_of_its_values() {
    let spread = |counts: [f64; 3]| {
        Case::new(Point::new().with("n", 1), &[TIME])
            .over("bin", [0.5, 1.0, 2.0])
            .with("motet", move || Ok(counts))
            .with("peer", || Ok([1.0, 2.0]))
    };
    let plan = super::measured(
        MeasuringMethod::rounds(2, 0),
        vec![spread([3.0, 0.0, 4.0])],
        |_| {},
    );
    let rows = plan.rows();
    let found: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row.point.to_string(), row.values()?.median)))
        .collect();
    let at = |bin: &str| format!("bin {bin}, n 1");
    assert_eq!(found, [(at("0.5"), 3.0), (at("1"), 0.0), (at("2"), 4.0)]);
    let reasons: Vec<_> = rows.iter().filter_map(Row::absent).collect();
    assert_eq!(reasons, ["it gives 2 values, not 3"; 3]);
}
