//! The experiments with clusterings: what a step costs, how good the clusters are.

use std::collections::BTreeMap;
use std::io::{self, Write};

use motet_bench::annealing::{
    self, AnnealingConfig, AnnealingRecord, STEPS, StepRecord, WholeRecord,
};
use motet_bench::quality::{
    self, AgreementRecord, PAIRS, QualityConfig, QualityError, QualityRecord, SetRecord,
};
use motet_bench::statistics::Spread;
use motet_sync::thread;
use serde::Serialize;

use crate::amount::check_threads;
use crate::bench::args::{AnnealingArgs, QualityArgs};
use crate::bench::sheet::Sheet;
use crate::error::CliError;
use crate::progress::TerminalBar;
use crate::stdout::print;
use crate::text::{grouped, significant};

pub(super) fn run_annealing(args: &AnnealingArgs) -> Result<(), CliError> {
    let mut threads = args.threads.iter().copied().map(Some);
    threads.try_for_each(check_threads)?;
    let config = AnnealingConfig {
        points: args.points,
        clusters: args.clusters.clone(),
        threads: args.threads.clone(),
        runs: args.runs,
        whole_runs: args.whole_runs,
        python: Some(args.python.clone()),
        ..AnnealingConfig::default()
    };
    let bar = TerminalBar::new(args.print.quiet);
    let record = annealing::measure(&config, |runs| {
        bar.at(
            runs as f64 / config.runs as f64,
            format!("{runs} repetitions"),
        );
    });
    bar.clear();
    let record = record.map_err(|error| CliError::Data(error.to_string()))?;
    if args.print.json {
        return json(&record);
    }
    if let Some(reason) = record.peer_absent.as_ref().filter(|_| !args.print.quiet) {
        // Where nobody reads it, nothing is lost.
        let _ = writeln!(io::stderr(), "motet: without scikit-learn: {reason}");
    }
    print_annealing(args, &record)
}

fn print_annealing(args: &AnnealingArgs, record: &AnnealingRecord) -> Result<(), CliError> {
    let mut sheet = Sheet::new(
        args.print,
        &[
            "clusters",
            "threads",
            "        annealing ns",
            "              hot ns",
            "            Lloyd ns",
            "     scikit-learn ns",
            "annealing / it",
            "hot / it",
            "speed-up",
            "its speed-up",
        ],
    );
    for row in &record.steps {
        sheet.row(row, &step_cells(row))?;
    }
    if record.whole.is_empty() {
        return Ok(());
    }
    print(|to| writeln!(to))?;
    let mut sheet = Sheet::new(
        args.print,
        &["clusters", "threads", "       whole run, s", "speed-up"],
    );
    record
        .whole
        .iter()
        .try_for_each(|row| sheet.row(row, &whole_cells(row)))
}

fn step_cells(row: &StepRecord) -> [String; 10] {
    let ns = STEPS.map(|step| row.ns.get(step).map_or("-".to_owned(), |&ns| spread(ns)));
    let [annealing, hot, lloyd, peer] = ns;
    let of = |ratios: &BTreeMap<&str, Spread>, step: &str| median(ratios.get(step).copied());
    [
        row.clusters.to_string(),
        row.threads.to_string(),
        annealing,
        hot,
        lloyd,
        peer,
        of(&row.over_peer, STEPS[0]),
        of(&row.over_peer, STEPS[1]),
        of(&row.speed_up, STEPS[0]),
        of(&row.speed_up, STEPS[3]),
    ]
}

fn whole_cells(row: &WholeRecord) -> [String; 4] {
    [
        row.clusters.to_string(),
        row.threads.to_string(),
        spread(row.seconds),
        median(Some(row.speed_up)),
    ]
}

/// The median, and in brackets the least and the most.
fn spread(of: Spread) -> String {
    format!("{:.3} ({:.3} to {:.3})", of.median, of.min, of.max)
}

fn median(of: Option<Spread>) -> String {
    of.map_or("-".to_owned(), |of| format!("{:.2}", of.median))
}

/// The table of sets of pairs.
fn run_pairs(args: &QualityArgs) -> Result<(), CliError> {
    let (bar, mut done) = (TerminalBar::new(args.print.quiet), 0_u32);
    let threads = args.threads.unwrap_or_else(thread::cores);
    let records = quality::pairs(&args.data, (&PAIRS, threads), |set| {
        done += 1;
        bar.at(f64::from(done) / PAIRS.len() as f64, set.to_owned());
    });
    bar.clear();
    let records = records.map_err(CliError::Data)?;
    if args.print.json {
        return json(&records);
    }
    let mut sheet = Sheet::new(
        args.print,
        &[
            "            set",
            " rows",
            "clusters",
            "     cost H",
            "   ARI",
            "H, no search",
            "   ARI",
            "H, Ward, T=0",
            "   ARI",
            "seconds",
        ],
    );
    for row in &records {
        let agreement = |value: f64| format!("{value:.3}");
        let cells = [
            row.set.clone(),
            grouped(row.rows),
            row.clusters.to_string(),
            significant(row.cost),
            agreement(row.agreement),
            significant(row.plain_cost),
            agreement(row.plain_agreement),
            significant(row.ward_cost),
            agreement(row.ward_agreement),
            format!("{:.2}", row.seconds),
        ];
        sheet.row(row, &cells)?;
    }
    Ok(())
}

pub(super) fn run_quality(args: &QualityArgs) -> Result<(), CliError> {
    check_threads(args.threads)?;
    if args.pairs {
        return run_pairs(args);
    }
    let mut config = QualityConfig {
        data: args.data.clone(),
        restarts: args.restarts,
        threads: args.threads.unwrap_or_else(thread::cores),
        ..QualityConfig::default()
    };
    if !args.sets.is_empty() {
        config.labelled.clone_from(&args.sets);
    }
    if args.full {
        config = config.full();
    }
    let (bar, mut done) = (TerminalBar::new(args.print.quiet), 0_u32);
    let all = config.labelled.len() + config.census.len();
    let record = quality::measure(&config, |set| {
        done += 1;
        bar.at(f64::from(done) / all as f64, set.to_owned());
    });
    bar.clear();
    let record = record.map_err(|error| match error {
        QualityError::Run(_) => CliError::Run(error.to_string()),
        error => CliError::Data(error.to_string()),
    })?;
    if args.print.json {
        return json(&record);
    }
    print_quality(args, &record)
}

fn print_quality(args: &QualityArgs, record: &QualityRecord) -> Result<(), CliError> {
    let mut sheet = Sheet::new(
        args.print,
        &[
            "                      set",
            "  points",
            "columns",
            "clusters",
            "annealing ARI",
            "K-means ARI",
            "best ARI",
            "annealing inertia",
            "K-means inertia",
            "   ratio",
            "annealing s",
            "K-means s",
        ],
    );
    let mut all = record.labelled.iter().chain(&record.census);
    all.try_for_each(|row| sheet.row(row, &set_cells(row)))
}

fn set_cells(row: &SetRecord) -> [String; 12] {
    // Census sets have no labels.
    let agreement = |of: fn(&AgreementRecord) -> f64| {
        let agreement = row.agreement.as_ref();
        agreement.map_or("-".to_owned(), |agreement| format!("{:.4}", of(agreement)))
    };
    [
        row.set.clone(),
        grouped(row.points),
        row.dim.to_string(),
        row.clusters.to_string(),
        agreement(|agreement| agreement.annealing_agreement),
        agreement(|agreement| agreement.kmeans_agreement),
        agreement(|agreement| agreement.kmeans_best_agreement),
        significant(row.annealing_inertia),
        significant(row.kmeans_inertia),
        format!("{:.5}", row.inertia_ratio),
        format!("{:.3}", row.annealing_seconds),
        format!("{:.3}", row.kmeans_seconds),
    ]
}

fn json(record: &impl Serialize) -> Result<(), CliError> {
    print(|to| {
        serde_json::to_writer(&mut *to, record)?;
        writeln!(to)
    })
}
