//! Rows of measurements on standard output, each as soon as it is there.

use serde::Serialize;

use crate::bench::print_args::PrintArgs;
use crate::error::CliError;
use crate::stdout::print;

/// A table whose rows come one by one.
#[derive(Debug)]
pub(super) struct Sheet {
    json: bool,
    headings: &'static [&'static str],
    begun: bool,
}

impl Sheet {
    pub(super) fn new(print: PrintArgs, headings: &'static [&'static str]) -> Sheet {
        Sheet {
            json: print.json,
            headings,
            begun: false,
        }
    }

    /// Prints a row: the record as JSON, or a cell under each heading.
    pub(super) fn row(
        &mut self,
        record: &impl Serialize,
        cells: &[String],
    ) -> Result<(), CliError> {
        print(|to| {
            if self.json {
                serde_json::to_writer(&mut *to, record)?;
                return writeln!(to);
            }
            if !self.begun {
                writeln!(to, "{}", self.line(self.headings))?;
            }
            writeln!(to, "{}", self.line(cells))
        })?;
        self.begun = true;
        Ok(())
    }

    /// Cells as wide as their headings, two spaces apart.
    fn line(&self, cells: &[impl AsRef<str>]) -> String {
        let padded = self.headings.iter().zip(cells).map(|(heading, cell)| {
            let (width, cell) = (heading.chars().count(), cell.as_ref());
            format!("{cell:>width$}")
        });
        padded.collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_their_headings() {
        let print = PrintArgs {
            json: false,
            quiet: true,
        };
        let sheet = Sheet::new(print, &["  pattern", "µs"]);
        assert_eq!(sheet.line(&["shift", "7"]), "    shift   7");
    }
}
