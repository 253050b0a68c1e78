//! `motet bench core`, `ranks`, `search` and `sim`: messages, joins, tasks, ranks, trees and events
//! beside their peers.

use motet_bench::exclusive;
use motet_bench::measuring::{Effort, MeasuringConfig, Setting};
use motet_bench::{CoreRecord, RowSet, Selection};

use crate::bench::args::{CoreArgs, RanksArgs, SearchArgs, SelectionArgs, SimArgs};
use crate::bench::print_args::PrintArgs;
use crate::bench::sheet::Sheet;
use crate::bench::suite_args::installations;
use crate::error::CliError;
use crate::own;
use crate::progress::TerminalBar;
use crate::stderr::tell;
use crate::text::grouped;
use std::ops::ControlFlow;
use std::time::Duration;

pub(super) fn run_core(args: CoreArgs) -> Result<(), CliError> {
    if let Some(span) = args.soak {
        return soak(span, args.print);
    }
    let config = MeasuringConfig {
        data: args.data,
        ..MeasuringConfig::default()
    };
    rows_of(RowSet::Core, config, args.selection, args.print)
}

pub(super) fn run_ranks(args: RanksArgs) -> Result<(), CliError> {
    let config = MeasuringConfig {
        mpi: installations(&args.mpi),
        motet: own::program().ok(),
        ..MeasuringConfig::default()
    };
    rows_of(RowSet::Ranks, config, args.selection, args.print)
}

pub(super) fn run_search(args: SearchArgs) -> Result<(), CliError> {
    let config = MeasuringConfig::default();
    rows_of(RowSet::Search, config, args.selection, args.print)
}

pub(super) fn run_sim(args: SimArgs) -> Result<(), CliError> {
    let config = MeasuringConfig {
        python: args.python,
        ..MeasuringConfig::default()
    };
    rows_of(RowSet::Sim, config, args.selection, args.print)
}

/// Exclusive handlers for as long as one says.
fn soak(span: Duration, print: PrintArgs) -> Result<(), CliError> {
    let mut sheet = Sheet::new(
        print,
        &[
            "posters",
            "seconds",
            "   exclusive",
            "  concurrent",
            "  MB",
            "at most",
        ],
    );
    let bar = TerminalBar::new(print.quiet);
    let record = exclusive::run(span, |passed, handled| {
        let share = passed.as_secs_f64() / span.as_secs_f64();
        let name = format!("{} exclusive handlers", grouped(handled as usize));
        bar.at(share.min(1.0), name);
    });
    bar.clear();
    let record = record.map_err(|error| CliError::Run(error.to_string()))?;
    let mb =
        |bytes: Option<f64>| bytes.map_or("-".to_owned(), |bytes| format!("{:.0}", bytes / 1e6));
    let cells = [
        record.posters.to_string(),
        format!("{:.1}", record.seconds),
        grouped(record.exclusive as usize),
        grouped(record.concurrent as usize),
        mb(record.resident_bytes),
        mb(record.resident_bytes_most),
    ];
    sheet.row(&record, &cells)
}

/// Prints the rows of a set, each as soon as it is there.
fn rows_of(
    set: RowSet,
    config: MeasuringConfig,
    selected: SelectionArgs,
    print: PrintArgs,
) -> Result<(), CliError> {
    let SelectionArgs {
        quick,
        rows,
        runs,
        go,
    } = selected;
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let setting = Setting::new(MeasuringConfig {
        effort,
        go,
        ..config
    });
    let selection = Selection { runs, rows };
    let mut sheet = Sheet::new(
        print,
        &[
            "                                 row",
            "                  unit",
            "    motet",
            "    limit",
            "                   bar",
            "holds",
            "                     cores",
            "peers (motet over the peer)",
        ],
    );
    let bar = TerminalBar::new(print.quiet);
    let mut printed = Ok(());
    let begin = |row: &str| bar.at(0.0, row.to_owned());
    set.measure(&setting, &selection, begin, |outcome| {
        bar.clear();
        match outcome {
            Ok(record) => {
                printed = sheet.row(&record, &cells(&record));
                for (peer, reason) in &record.absent {
                    tell(format_args!("{}: no {peer}: {reason}", record.row));
                }
            }
            Err(missing) => tell(format_args!("{} left out: {}", missing.row, missing.reason)),
        }
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            // The others would be measured for nobody.
            Err(_) => ControlFlow::Break(()),
        }
    });
    printed
}

fn cells(record: &CoreRecord) -> [String; 8] {
    let number = |value: f64| match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    };
    let limit = record.limit.zip(record.limit_name);
    let peers: Vec<String> = record
        .peers
        .iter()
        .map(|(name, value)| format!("{name} {} ({:.2})", number(*value), record.ratios[name]))
        .collect();
    let cores = record.cores.two_cores.zip(record.cores.sums_per_cycle);
    let cores = cores.zip(record.cores.roundtrip_us);
    let holds = match record.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "-",
    };
    [
        record.row.clone(),
        record.unit.to_owned(),
        number(record.motet),
        limit.map_or("-".to_owned(), |(value, name)| {
            format!("{} {name}", number(value))
        }),
        record.bar.clone(),
        holds.to_owned(),
        cores.map_or("-".to_owned(), |((two, sums), trip)| {
            let clock = record.cores.clock_ghz;
            format!("{clock:.1} GHz × {sums:.1}, {two:.1}, {trip:.2} µs")
        }),
        peers.join(", "),
    ]
}
