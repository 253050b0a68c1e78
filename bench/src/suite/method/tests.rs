//! What the method promises, with readings of load that are made up.

use super::*;
use crate::suite::load::Reading;
use crate::suite::{Point, Quantity};
use std::cell::RefCell;
#[cfg(target_os = "linux")]
use std::process::Command;
use std::rc::Rc;

/// Readings in which others have this share of one of two processors during each attempt in turn.
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
            self.busy += second.mul_f64(self.shares[self.reads / 2]);
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
    rows: Vec<Row>,
    disturbed: Vec<bool>,
    stop_after: Option<Rc<RefCell<usize>>>,
}

impl Listener for Told {
    fn case(&mut self, _: usize, _: usize, _: &Case) {}

    fn row(&mut self, row: &Row) -> Result<(), Stop> {
        self.rows.push(row.clone());
        Ok(())
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

fn measurer(shares: &[f64], warm: bool) -> Measurer {
    Measurer {
        method: Method {
            budget: Duration::from_secs(60),
            least: 3,
            most: 3,
            warm,
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
        Outcome::Measured {
            median,
            least,
            most,
            runs,
        } => (median, least, most, runs),
        Outcome::Absent { .. } => panic!("{row:?}"),
    }
}

#[test]
fn series_run_in_turn_after_one_run_for_nothing() {
    let (asked, mut told) = (Rc::default(), Told::default());
    let mut measurer = measurer(&[0.0], true);
    measurer
        .measure("E99", vec![case(&asked)], &mut told)
        .unwrap();
    assert_eq!(*asked.borrow(), "mpmpmpmp");
    assert_eq!(told.rows.len(), 2);
    // The first value was for nothing.
    assert_eq!(measured(&told.rows[0]), (3.0, 2.0, 4.0, 3));
    assert!(
        told.rows
            .iter()
            .all(|row| !row.disturbed && row.experiment == "E99")
    );
    assert_eq!(
        (told.rows[0].series.as_str(), told.rows[1].series.as_str()),
        ("motet", "peer")
    );
}

#[test]
fn a_disturbance_is_measured_again_and_then_said() {
    for (shares, attempts, marked) in [
        (&[0.0][..], 1, false),
        (&[0.9, 0.0], 2, false),
        (&[0.9, 0.5], 2, true),
        (&[0.5, 0.9], 2, true),
    ] {
        let (asked, mut told) = (Rc::default(), Told::default());
        let mut measurer = measurer(shares, false);
        measurer
            .measure("E99", vec![case(&asked)], &mut told)
            .unwrap();
        assert_eq!(asked.borrow().len(), attempts * 3 * 2, "{shares:?}");
        assert!(
            told.rows.iter().all(|row| row.disturbed == marked),
            "{shares:?}"
        );
        let expected: &[bool] = match (attempts, marked) {
            (1, _) => &[],
            (_, false) => &[true],
            (_, true) => &[true, false],
        };
        assert_eq!(told.disturbed, expected, "{shares:?}");
        // The attempt with less of it is kept: the second one's values begin with 4.
        let second = attempts == 2 && shares[1] < shares[0];
        assert_eq!(
            measured(&told.rows[0]).1,
            if second { 4.0 } else { 1.0 },
            "{shares:?}"
        );
    }
}

#[test]
fn who_cannot_run_is_not_asked_again() {
    let asked = Rc::new(RefCell::new(0));
    let count = Rc::clone(&asked);
    let case = Case::new(Point::new(), &[TIME])
        .with("gone", move || {
            *count.borrow_mut() += 1;
            Err("there is none".to_owned())
        })
        .with("odd", || Ok(vec![1.0, 2.0]))
        .with("wrong", || Ok(vec![f64::NAN]))
        .absent("never", "not on this machine");
    let mut told = Told::default();
    measurer(&[0.0], true)
        .measure("E99", vec![case], &mut told)
        .unwrap();
    assert_eq!(*asked.borrow(), 1);
    let reasons: Vec<&str> = told
        .rows
        .iter()
        .map(|row| match &row.outcome {
            Outcome::Absent { absent } => absent.as_str(),
            Outcome::Measured { .. } => panic!("{row:?}"),
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
    let mut measurer = measurer(&[0.0, 0.0], false);
    measurer.method.budget = Duration::ZERO;
    let cases = vec![case(&asked), case(&asked)];
    measurer.measure("E99", cases, &mut told).unwrap();
    assert_eq!(*asked.borrow(), "mpmp");
    assert!(told.rows.iter().all(|row| measured(row).3 == 1));
}

#[test]
fn a_spent_budget_leaves_a_disturbed_case_as_it_is() {
    let (asked, mut told) = (Rc::default(), Told::default());
    let mut measurer = measurer(&[0.9], true);
    measurer.method.budget = Duration::ZERO;
    measurer
        .measure("E99", vec![case(&asked)], &mut told)
        .unwrap();
    // No run for nothing, one round, and no time for another attempt: the rows say so.
    assert_eq!(*asked.borrow(), "mp");
    assert_eq!(told.disturbed, [false]);
    assert!(told.rows.iter().all(|row| row.disturbed));
}

#[test]
fn cancelling_leaves_the_rows_before_it() {
    let asked = Rc::default();
    let mut told = Told {
        stop_after: Some(Rc::new(RefCell::new(9))),
        ..Told::default()
    };
    let mut measurer = measurer(&[0.0, 0.0], false);
    let cases = vec![case(&asked), case(&asked)];
    let stop = measurer.measure("E99", cases, &mut told).unwrap_err();
    assert!(matches!(stop, Stop::Cancelled));
    // Six runs are the first case's; it was stopped in the second.
    assert_eq!((asked.borrow().len(), told.rows.len()), (8, 2));
}

/// A program that computes and is not of this process's family: the shell that has started it has ended.
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
    let mut measurer = Measurer::new(Method {
        budget: Duration::from_secs(60),
        least: 1,
        most: 1,
        warm: false,
        watched: true,
    });
    let waits = || {
        std::thread::park_timeout(Duration::from_millis(500));
        Ok(vec![1.0])
    };
    let mut told = Told::default();
    let case = Case::new(Point::new(), &[TIME]).with("motet", waits);
    measurer.measure("E99", vec![case], &mut told).unwrap();
    assert_eq!(
        told.disturbed,
        [true, false],
        "once more, and then it is said"
    );
    assert!(told.rows.iter().all(|row| row.disturbed));
}
