//! `motet bench`: the experiments, on this machine.

mod args;
mod clustering;
mod messages;
mod print_args;
mod rank_program;
mod results;
mod sheet;
mod suite;
mod suite_args;
mod texts;

pub use args::{
    AnnealingArgs, BenchArgs, CoreArgs, ExperimentCommand, IdleArgs, OversubscribedArgs,
    QualityArgs, RanksArgs, SearchArgs, SelectionArgs, SoakArgs, StagesArgs,
};
pub use print_args::PrintArgs;
pub use rank_program::RankProgramArgs;
pub use results::{CompareArgs, ResultsArgs};
pub use suite_args::SuiteArgs;

use motet_bench::stages::{Pattern, StageMode, StagesConfig, StagesError, StagesRecord};
use motet_bench::{idle, oversubscribed, soak, stages};
use motet_sync::thread;

use crate::amount::check_threads;
use crate::bench::sheet::Sheet;
use crate::error::{BenchError, CliError};
use crate::progress::TerminalBar;
use crate::text::grouped;

/// Runs the command to its end.
///
/// # Errors
/// Any [`CliError`]; the rows before it have been printed.
pub(crate) fn run(args: BenchArgs) -> Result<(), CliError> {
    match args.experiment {
        ExperimentCommand::List(print) => suite::list(print),
        ExperimentCommand::Run(args) => suite::run(&args),
        ExperimentCommand::Plot(args) => results::run_plot(&args),
        ExperimentCommand::Report(args) => results::run_report(&args),
        ExperimentCommand::Compare(args) => results::run_compare(&args),
        ExperimentCommand::Join(args) => results::run_join(&args),
        ExperimentCommand::Stages(args) => run_stages(&args),
        ExperimentCommand::Core(args) => messages::run_core(args),
        ExperimentCommand::Ranks(args) => messages::run_ranks(args),
        ExperimentCommand::Search(args) => messages::run_search(args),
        ExperimentCommand::Sim(args) => messages::run_sim(args),
        ExperimentCommand::Soak(args) => run_soak(&args),
        ExperimentCommand::Oversubscribed(args) => run_oversubscribed(&args),
        ExperimentCommand::Idle(args) => run_idle(&args),
        ExperimentCommand::Annealing(args) => clustering::run_annealing(&args),
        ExperimentCommand::Quality(args) => clustering::run_quality(&args),
        ExperimentCommand::RankProgram(args) => rank_program::run(&args),
    }
}

fn run_stages(args: &StagesArgs) -> Result<(), CliError> {
    check_threads(args.threads)?;
    let mut sheet = Sheet::new(
        args.print,
        &[
            "           pattern",
            "      mode",
            "    P",
            "threads",
            "units",
            "overhead µs",
            "   least",
            "    most",
            " ideal µs",
            "of ideal",
            "   R µs",
            "   A µs",
            "   of R or A",
        ],
    );
    for config in configs(args)? {
        let name = format!(
            "{} {}, P = {}",
            config.mode, config.pattern, config.parallel
        );
        let bar = TerminalBar::new(args.print.quiet);
        let record = stages::measure(&config, |pairs| {
            bar.at(pairs as f64 / config.runs as f64, name.clone());
        });
        bar.clear();
        let record = record.map_err(unmeasurable)?;
        sheet.row(&record, &stages_cells(&record))?;
    }
    Ok(())
}

/// Every combination that is defined. One that is not is an error only when it is all that was
/// asked for.
fn configs(args: &StagesArgs) -> Result<Vec<StagesConfig>, CliError> {
    let or_all = |given: &[Pattern]| match given {
        [] => Pattern::ALL.to_vec(),
        given => given.to_vec(),
    };
    let modes = match args.mode.as_slice() {
        [] => StageMode::ALL.to_vec(),
        given => given.to_vec(),
    };
    let parallel = match args.parallel.as_slice() {
        [] => vec![thread::cores()],
        given => given.to_vec(),
    };
    let mut configs = Vec::new();
    let mut undefined = None;
    for &mode in &modes {
        for &pattern in &or_all(&args.pattern) {
            for (&parallel, &units) in parallel
                .iter()
                .flat_map(|parallel| args.units.iter().map(move |units| (parallel, units)))
            {
                let config = StagesConfig {
                    units,
                    stages: args.stages,
                    threads: args.threads,
                    runs: args.runs,
                    ..StagesConfig::new(pattern, mode, parallel)
                };
                match config.check() {
                    Ok(()) => configs.push(config),
                    Err(error) => undefined = Some(error),
                }
            }
        }
    }
    match undefined {
        Some(error) if configs.is_empty() => Err(unmeasurable(error)),
        _ => Ok(configs),
    }
}

fn unmeasurable(error: StagesError) -> CliError {
    BenchError::from(error).into()
}

fn stages_cells(record: &StagesRecord) -> [String; 13] {
    let config = &record.config;
    let micro = |time: f64| format!("{time:.4}");
    let ratio = match (config.mode, record.roundtrip_us) {
        (StageMode::Spawned, _) => format!("{:.2} A", record.overhead_us / record.spawn_us),
        (StageMode::Rendezvous, Some(trip)) => format!("{:.2} R", record.overhead_us / trip),
        (StageMode::Rendezvous, None) => "-".to_owned(),
    };
    let of_ideal = if config.units == 0 {
        "-".to_owned()
    } else {
        format!("{:.2} %", 100.0 * record.overhead_us / record.ideal_us)
    };
    [
        config.pattern.to_string(),
        config.mode.to_string(),
        config.parallel.to_string(),
        config.threads().to_string(),
        config.units.to_string(),
        micro(record.overhead_us),
        micro(record.overhead_min_us),
        micro(record.overhead_max_us),
        format!("{:.3}", record.ideal_us),
        of_ideal,
        record.roundtrip_us.map_or("-".to_owned(), micro),
        micro(record.spawn_us),
        ratio,
    ]
}

fn run_soak(args: &SoakArgs) -> Result<(), CliError> {
    let mut sheet = Sheet::new(
        args.print,
        &[
            "   P",
            "threads",
            "         stages",
            "seconds",
            "µs a stage",
        ],
    );
    for &parallel in &args.parallel {
        let bar = TerminalBar::new(args.print.quiet);
        let record = soak::run(parallel, args.stages, |stages| {
            let share = stages as f64 / args.stages as f64;
            bar.at(
                share,
                format!("{parallel} ranks, {} stages", grouped(stages as usize)),
            );
        });
        bar.clear();
        let cells = [
            record.parallel.to_string(),
            record.threads.to_string(),
            grouped(record.stages as usize),
            format!("{:.2}", record.seconds),
            format!("{:.4}", record.stage_us),
        ];
        sheet.row(&record, &cells)?;
    }
    Ok(())
}

fn run_oversubscribed(args: &OversubscribedArgs) -> Result<(), CliError> {
    let mut sheet = Sheet::new(
        args.print,
        &[
            "P",
            "busy",
            "share",
            "progress",
            "of share",
            "µs alone",
            "µs beside",
        ],
    );
    for &busy in &args.busy {
        let record = oversubscribed::measure(busy, args.runs).map_err(|source| {
            CliError::Run(format!(
                "the busy processes do not start: {source}: this experiment needs the program sh"
            ))
        })?;
        let cells = [
            record.parallel.to_string(),
            record.busy.to_string(),
            format!("{:.3}", record.share),
            format!("{:.3}", record.progress),
            format!("{:.2}", record.progress_over_share),
            format!("{:.3}", record.alone_us),
            format!("{:.3}", record.beside_us),
        ];
        sheet.row(&record, &cells)?;
    }
    Ok(())
}

fn run_idle(args: &IdleArgs) -> Result<(), CliError> {
    let mut sheet = Sheet::new(args.print, &["threads", "processor ms", "watched ms"]);
    let record = idle::measure();
    let cells = [
        record.threads.to_string(),
        record
            .processor_ms
            .map_or("not told".to_owned(), |time| format!("{time:.3}")),
        format!("{:.0}", record.watched_ms),
    ];
    sheet.row(&record, &cells)
}
