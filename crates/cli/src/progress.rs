//! The bar on standard error while the program works.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::text::{grouped, significant};

/// Steps of the bar.
const STEPS: u64 = 1000;

/// A bar that shows only on a terminal.
#[derive(Debug)]
pub(crate) struct TerminalBar {
    bar: ProgressBar,
}

impl TerminalBar {
    /// A bar that stays hidden when `quiet`, or when standard error is not a terminal.
    pub(crate) fn new(quiet: bool) -> TerminalBar {
        let bar = ProgressBar::new(STEPS);
        let seen = !quiet && stderr().is_terminal();
        if seen {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(200));
        } else {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style =
            ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}  {elapsed}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        TerminalBar { bar }
    }

    /// So many rows have been read.
    pub(crate) fn read(&self, rows: usize) {
        self.bar
            .set_message(format!("reading, {} rows", grouped(rows)));
        self.bar.tick();
    }

    /// The run has come to this share, temperature and number of clusters.
    pub(crate) fn cool(&self, share: f64, temperature: f64, clusters: usize) {
        // K-means has no temperature.
        let temperature = match temperature {
            0.0 => String::new(),
            temperature => format!("temperature {}, ", significant(temperature)),
        };
        self.at(share, format!("{temperature}{clusters} clusters"));
    }

    /// The work has come to this share.
    pub(crate) fn at(&self, share: f64, message: String) {
        self.bar
            .set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
        self.bar.set_message(message);
    }

    /// Takes the bar off the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
