//! `motet bench core`: messages, joins and tasks beside their peers.

use motet_bench::core::{self, CoreConfig, CoreRecord, Effort};

use crate::bench::args::CoreArgs;
use crate::bench::sheet::Sheet;
use crate::error::CliError;
use crate::progress::Bar;

pub(super) fn run(args: CoreArgs) -> Result<(), CliError> {
    let CoreArgs {
        quick,
        rows,
        runs,
        data,
        go,
        print,
    } = args;
    let config = CoreConfig {
        effort: if quick { Effort::Quick } else { Effort::Full },
        runs,
        rows,
        data,
        go,
    };
    let mut sheet = Sheet::new(
        print,
        &[
            "                                 row",
            "                  unit",
            "    motet",
            "    limit",
            "                   bar",
            "holds",
            "peers (motet over the peer)",
        ],
    );
    let bar = Bar::new(print.quiet);
    let mut printed = Ok(());
    core::measure(
        &config,
        |row| bar.at(0.0, row.to_owned()),
        |outcome| {
            bar.clear();
            match outcome {
                Ok(record) if printed.is_ok() => {
                    printed = sheet.row(&record, &cells(&record));
                    for (peer, reason) in &record.absent {
                        eprintln!("motet: {}: no {peer}: {reason}", record.row);
                    }
                }
                Ok(_) => {}
                Err(missing) => eprintln!("motet: {} left out: {}", missing.row, missing.reason),
            }
        },
    );
    printed
}

fn cells(record: &CoreRecord) -> [String; 7] {
    let number = |value: f64| match value {
        value if value >= 1000.0 => format!("{value:.0}"),
        value => format!("{value:.1}"),
    };
    let limit = record.limit.zip(record.limit_name);
    let peers: Vec<String> = record
        .peers
        .iter()
        .map(|(name, value)| format!("{name} {} ({:.2})", number(*value), record.ratios[name]))
        .collect();
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
        peers.join(", "),
    ]
}
