//! The rows of an experiment as tables: a line for each point, a column for each series.

use crate::measuring::{ParameterValue, Row};
use crate::text::{number, unit};
use itertools::Itertools;
use serde::Serialize;

/// One quantity of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// The quantity and its unit.
    pub title: String,
    /// Parameters that have one value in all lines, with it.
    pub fixed: Vec<(String, String)>,
    /// The other parameters.
    pub parameters: Vec<String>,
    /// The series that have a value somewhere.
    pub series: Vec<String>,
    /// A line for each point.
    pub lines: Vec<SheetLine>,
    /// Why values are missing; cells and series name them by their place.
    pub reasons: Vec<Reason>,
}

/// A point and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetLine {
    /// The values of the parameters; empty for one that the point has not.
    pub point: Vec<String>,
    /// A cell for each series.
    pub cells: Vec<Cell>,
}

/// What a series has at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// Nothing was asked.
    Empty,
    /// Median, least, most; and whether other load was there.
    Value([f64; 3], bool),
    /// Nothing, for the reason at this place.
    Absent(usize),
}

/// Why values are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The series.
    pub series: String,
    /// In words.
    pub text: String,
    /// Whether the series has no value at all.
    pub everywhere: bool,
}

/// A sheet for each quantity among `rows`, all of one experiment. Parameters stand in the given
/// order, then by name.
#[must_use]
pub fn sheets(order: &[&str], rows: &[&Row]) -> Vec<Sheet> {
    let quantities = rows.iter().map(|row| &row.quantity).unique();
    let of = |quantity: &String| {
        let rows = rows.iter().copied();
        let rows: Vec<&Row> = rows.filter(|row| row.quantity == *quantity).collect();
        sheet(order, &rows)
    };
    quantities.map(of).collect()
}

/// All `rows` as one CSV file: every value, parameters as `name=value` joined by semicolons.
///
/// # Panics
/// Never: memory can be written.
#[must_use]
pub fn csv(rows: &[&Row]) -> Vec<u8> {
    #[derive(Serialize)]
    struct Line<'a> {
        experiment: &'a str,
        series: &'a str,
        point: String,
        quantity: &'a str,
        unit: &'a str,
        median: Option<String>,
        least: Option<String>,
        most: Option<String>,
        runs: Option<usize>,
        disturbed: bool,
        absent: Option<&'a str>,
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        let parameters = row.point.iter();
        let mut parameters = parameters.map(|(name, value)| format!("{name}={value}"));
        let values = row.values();
        let line = Line {
            experiment: &row.experiment,
            series: &row.series,
            point: parameters.join(";"),
            quantity: &row.quantity,
            unit: &row.unit,
            median: values.map(|values| values.median.to_string()),
            least: values.map(|values| values.least.to_string()),
            most: values.map(|values| values.most.to_string()),
            runs: values.map(|values| values.runs),
            disturbed: row.disturbed,
            absent: row.absent(),
        };
        writer.serialize(line).expect("memory can be written");
    }
    writer.into_inner().expect("memory can be written")
}

impl Sheet {
    /// As a Markdown table with its title and what must be said of it.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", markdown(&self.title));
        if !self.fixed.is_empty() {
            text += &format!("Everywhere: {}.\n\n", markdown(&self.fixed_text()));
        }
        let heading = self.parameters.iter().chain(&self.series);
        let heading: Vec<String> = heading.map(|name| markdown(name)).collect();
        if !self.series.is_empty() {
            text += &format!("| {} |\n", heading.join(" | "));
            text += &format!("|{}\n", "---|".repeat(heading.len()));
        }
        for line in self.lines.iter().filter(|_| !self.series.is_empty()) {
            let cells = line.cells.iter().map(|cell| cell.text());
            let mut all = line.point.iter().map(|value| markdown(value)).chain(cells);
            text += &format!("| {} |\n", all.join(" | "));
        }
        text += "\nMedian (least to most).";
        if let Some(load) = self.load() {
            text += &format!(" {load}");
        }
        text.push('\n');
        for (at, reason) in self.reasons.iter().enumerate() {
            let Reason {
                series, text: why, ..
            } = reason;
            text += &format!("\n- [{}] {}: {}", at + 1, markdown(series), markdown(why));
        }
        text.push('\n');
        text
    }

    /// The parameters with one value, in words.
    #[must_use]
    pub fn fixed_text(&self) -> String {
        let mut fixed = self
            .fixed
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        fixed.join(", ")
    }

    /// What must be said of other load; nothing when there was none.
    #[must_use]
    pub fn load(&self) -> Option<&'static str> {
        let cells = self.lines.iter().flat_map(|line| &line.cells);
        let mut values = cells.filter_map(|cell| match cell {
            Cell::Value(_, disturbed) => Some(*disturbed),
            Cell::Empty | Cell::Absent(_) => None,
        });
        values
            .any(|disturbed| disturbed)
            .then_some("† measured beside other load.")
    }
}

impl Cell {
    /// As text: `0.8 (0.7 to 0.9)`, † behind it for other load, `[1]` for a reason.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Value([median, least, most], disturbed) => {
                let mark = if *disturbed { " †" } else { "" };
                if least == most {
                    return format!("{}{mark}", number(*median));
                }
                let [median, least, most] = [median, least, most].map(|value| number(*value));
                format!("{median} ({least} to {most}){mark}")
            }
            Cell::Absent(reason) => format!("[{}]", reason + 1),
        }
    }
}

fn sheet(order: &[&str], rows: &[&Row]) -> Sheet {
    let (fixed, parameters) = parameters(order, rows);
    let measured = rows.iter().filter(|row| row.values().is_some());
    let mut series: Vec<&str> = measured.map(|row| row.series.as_str()).unique().collect();
    // Motet's columns come first.
    series.sort_by_key(|name| !name.starts_with("motet"));
    let mut reasons: Vec<Reason> = Vec::new();
    let mut lines: Vec<SheetLine> = Vec::new();
    for row in rows {
        let value = |name: &String| row.point.get(name).map_or(String::new(), shown);
        let point: Vec<String> = parameters.iter().map(value).collect();
        let cell = match row.values() {
            Some(values) => Cell::Value([values.median, values.least, values.most], row.disturbed),
            None => {
                let reason = Reason {
                    series: row.series.clone(),
                    text: row.absent().unwrap_or_default().to_owned(),
                    everywhere: !series.contains(&row.series.as_str()),
                };
                let known = reasons.iter().position(|known| *known == reason);
                Cell::Absent(known.unwrap_or_else(|| {
                    reasons.push(reason);
                    reasons.len() - 1
                }))
            }
        };
        let column = series.iter().position(|name| *name == row.series);
        let at = lines.iter().position(|line| line.point == point);
        let at = at.unwrap_or_else(|| {
            let cells = vec![Cell::Empty; series.len()];
            lines.push(SheetLine { point, cells });
            lines.len() - 1
        });
        if let Some(column) = column {
            lines[at].cells[column] = cell;
        }
    }
    let first = rows.first();
    let title = match first.map_or("", |row| unit(&row.unit)) {
        "" => first.map_or(String::new(), |row| row.quantity.clone()),
        unit => format!("{}, {unit}", first.map_or("", |row| &row.quantity)),
    };
    Sheet {
        title,
        fixed,
        parameters,
        series: series.into_iter().map(str::to_owned).collect(),
        lines,
        reasons,
    }
}

/// The parameters that have one value, with it, and those that vary.
fn parameters(order: &[&str], rows: &[&Row]) -> (Vec<(String, String)>, Vec<String>) {
    let names = rows.iter().flat_map(|row| row.point.iter());
    let mut names: Vec<&str> = names.map(|(name, _)| name).unique().collect();
    names.sort_by_key(|name| {
        (
            order.iter().position(|o| o == name).unwrap_or(order.len()),
            *name,
        )
    });
    let (mut fixed, mut varying) = (Vec::new(), Vec::new());
    for name in names {
        let mut values = rows.iter().map(|row| row.point.get(name));
        let first = values.next().flatten();
        match first.filter(|first| values.all(|value| value == Some(first))) {
            Some(value) if rows.len() > 1 => fixed.push((name.to_owned(), shown(value))),
            _ => varying.push(name.to_owned()),
        }
    }
    (fixed, varying)
}

/// A parameter's value: whole numbers with all their digits.
fn shown(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Number(value) => number(*value),
        ParameterValue::Count(_) | ParameterValue::Word(_) => value.to_string(),
    }
}

/// Text that cannot break a table or become markup.
fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' => {
                safe.push('\\');
                safe.push(c);
            }
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measuring::{Point, RowOutcome, SCHEMA};

    fn row(series: &str, parallel: u64, outcome: RowOutcome) -> Row {
        Row {
            schema: SCHEMA,
            experiment: "E06".to_owned(),
            series: series.to_owned(),
            point: Point::new()
                .with("units", 20)
                .with("parallel", parallel)
                .with("a", "x"),
            quantity: "overhead per stage".to_owned(),
            unit: "us".to_owned(),
            outcome,
            disturbed: parallel == 4,
        }
    }

    fn measured(median: f64) -> RowOutcome {
        RowOutcome::Measured {
            median,
            least: median / 2.0,
            most: median * 2.0,
            runs: 3,
        }
    }

    fn rows() -> Vec<Row> {
        let absent = |why: &str| RowOutcome::Absent {
            absent: why.to_owned(),
        };
        vec![
            row("tokio", 2, measured(1.5)),
            row("motet", 2, measured(0.5)),
            row("go", 2, absent("there is no <go> | here")),
            row("motet", 4, measured(1.0)),
            row("tokio", 4, absent("it gives NaN")),
            row("go", 4, absent("there is no <go> | here")),
        ]
    }

    #[test]
    fn a_line_for_each_point_and_a_column_for_each_series_that_has_a_value() {
        let rows = rows();
        let [sheet] = sheets(&["units"], &rows.iter().collect::<Vec<_>>())
            .try_into()
            .unwrap();
        assert_eq!(sheet.title, "overhead per stage, µs");
        assert_eq!(sheet.fixed_text(), "units 20, a x");
        assert_eq!(sheet.parameters, ["parallel"]);
        assert_eq!(sheet.series, ["motet", "tokio"]);
        assert_eq!(
            sheet.lines[0].cells[1],
            Cell::Value([1.5, 0.75, 3.0], false)
        );
        assert_eq!(sheet.lines[1].cells[1], Cell::Absent(1));
        let everywhere: Vec<bool> = sheet
            .reasons
            .iter()
            .map(|reason| reason.everywhere)
            .collect();
        assert_eq!(everywhere, [true, false]);
    }

    #[test]
    fn markdown_cannot_be_broken_by_what_rows_hold() {
        let rows = rows();
        let [sheet] = sheets(&[], &rows.iter().collect::<Vec<_>>())
            .try_into()
            .unwrap();
        let text = sheet.markdown();
        assert!(
            text.contains("| 2 | 0.5 (0.25 to 1) | 1.5 (0.75 to 3) |\n"),
            "{text}"
        );
        assert!(text.contains("| 4 | 1 (0.5 to 2) † | [2] |\n"), "{text}");
        assert!(
            text.contains("- [1] go: there is no \\<go\\> \\| here"),
            "{text}"
        );
    }

    #[test]
    fn csv_holds_every_row() {
        let rows = rows();
        let text = csv(&rows.iter().collect::<Vec<_>>());
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), rows.len());
        assert_eq!(&records[1][2], "a=x;parallel=2;units=20");
        assert_eq!((&records[1][5], &records[1][8]), ("0.5", "3"));
        assert_eq!(&records[2][10], "there is no <go> | here");
    }

    #[test]
    fn a_single_point_keeps_its_parameters() {
        let one = row("motet", 2, measured(0.5));
        let [sheet] = sheets(&[], &[&one]).try_into().unwrap();
        assert_eq!(sheet.parameters, ["a", "parallel", "units"]);
    }
}
