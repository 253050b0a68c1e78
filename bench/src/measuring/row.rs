//! What was measured: one JSON object per line.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The number of the rows' form. A reader refuses others.
pub const SCHEMA: u32 = 1;

/// One quantity of one series at one point.
///
/// ```
/// use motet_bench::measuring::{RowOutcome, Point, Row};
///
/// let line = r#"{"schema":1,"experiment":"E06","series":"motet","point":{"threads":2},"quantity":"overhead per stage","unit":"us","median":0.8,"least":0.7,"most":0.9,"runs":5,"disturbed":false}"#;
/// let row: Row = serde_json::from_str(line).unwrap();
/// assert_eq!(row.point, Point::new().with("threads", 2));
/// assert!(matches!(row.outcome, RowOutcome::Measured { runs: 5, .. }));
/// assert_eq!(serde_json::to_string(&row).unwrap(), line);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The experiment's key, such as `E06`.
    pub experiment: String,
    /// `motet`, a form of it, or the peer's name.
    pub series: String,
    /// Where.
    pub point: Point,
    /// What.
    pub quantity: String,
    /// In what; empty for a plain number.
    pub unit: String,
    /// The values, or why there are none.
    #[serde(flatten)]
    pub outcome: RowOutcome,
    /// Others had too much of the processors over all its rounds, also when disturbed ones were
    /// measured again.
    #[serde(default)]
    pub disturbed: bool,
}

impl Row {
    /// What tells it from the other rows of a run: experiment, series, point and quantity.
    #[must_use]
    pub fn name(&self) -> [String; 4] {
        [
            self.experiment.clone(),
            self.series.clone(),
            self.point.to_string(),
            self.quantity.clone(),
        ]
    }

    /// Its values, if it was measured.
    #[must_use]
    pub fn values(&self) -> Option<RowValues> {
        match self.outcome {
            RowOutcome::Measured {
                median,
                least,
                most,
                runs,
            } => Some(RowValues {
                median,
                least,
                most,
                runs,
            }),
            RowOutcome::Absent { .. } => None,
        }
    }

    /// Why it has none.
    #[must_use]
    pub fn absent(&self) -> Option<&str> {
        match &self.outcome {
            RowOutcome::Absent { absent } => Some(absent),
            RowOutcome::Measured { .. } => None,
        }
    }
}

/// The values of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowValues {
    /// The middle one.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// How many there are.
    pub runs: usize,
}

/// The values of a row, or the reason why there are none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Fields")]
pub enum RowOutcome {
    /// It was measured.
    Measured {
        /// The median of the runs.
        median: f64,
        /// The least.
        least: f64,
        /// The most.
        most: f64,
        /// How many.
        runs: usize,
    },
    /// It cannot run here.
    Absent {
        /// Why.
        absent: String,
    },
}

/// The fields of every outcome, as they are read.
#[derive(Deserialize)]
struct Fields {
    median: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    runs: Option<usize>,
    absent: Option<String>,
}

impl TryFrom<Fields> for RowOutcome {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<RowOutcome, &'static str> {
        let values = (fields.median, fields.least, fields.most, fields.runs);
        match (values, fields.absent) {
            ((Some(median), Some(least), Some(most), Some(runs)), _) => Ok(RowOutcome::Measured {
                median,
                least,
                most,
                runs,
            }),
            (_, Some(absent)) => Ok(RowOutcome::Absent { absent }),
            _ => Err("it has neither median, least, most and runs, nor absent"),
        }
    }
}

/// Where a case lies: parameters by name.
#[derive(Debug, Clone, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point(BTreeMap<String, ParameterValue>);

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A whole number.
    Count(u64),
    /// Another number.
    Number(f64),
    /// A word.
    Word(String),
}

impl Point {
    /// No parameters: an experiment with one point.
    #[must_use]
    pub fn new() -> Point {
        Point::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<ParameterValue>) -> Point {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl ParameterValue {
    /// The number, when it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            ParameterValue::Count(count) => Some(*count as f64),
            ParameterValue::Number(number) => Some(*number),
            ParameterValue::Word(_) => None,
        }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Count(count) => write!(f, "{count}"),
            ParameterValue::Number(number) => write!(f, "{number}"),
            ParameterValue::Word(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {value}")?;
        }
        Ok(())
    }
}

/// Kinds of values, each with how it becomes a parameter's.
macro_rules! values_from {
    ($($kind:ty: $of:expr;)*) => {
        $(impl From<$kind> for ParameterValue {
            fn from(value: $kind) -> ParameterValue {
                $of(value)
            }
        })*
    };
}

values_from! {
    u64: ParameterValue::Count;
    usize: |count| ParameterValue::Count(count as u64);
    i32: |n: i32| u64::try_from(n).map_or(ParameterValue::Number(n.into()), ParameterValue::Count);
    f64: ParameterValue::Number;
    &str: |word: &str| ParameterValue::Word(word.to_owned());
    String: ParameterValue::Word;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_and_read_alike() {
        let measured = RowOutcome::Measured {
            median: 0.5,
            least: 0.25,
            most: 1.0,
            runs: 3,
        };
        let absent = RowOutcome::Absent {
            absent: "there is no \"go\"".to_owned(),
        };
        for (outcome, disturbed) in [(measured, true), (absent, false)] {
            let row = Row {
                schema: SCHEMA,
                experiment: "E99".to_owned(),
                series: "motet".to_owned(),
                point: Point::new()
                    .with("pattern", "shift")
                    .with("threads", 2)
                    .with("share", 0.5),
                quantity: "time".to_owned(),
                unit: "us".to_owned(),
                outcome,
                disturbed,
            };
            let line = serde_json::to_string(&row).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Row>(&line).unwrap(), row, "{line}");
        }
    }

    #[test]
    fn values_keep_their_kind() {
        let point: Point = serde_json::from_str(r#"{"a":3,"b":0.5,"c":"x"}"#).unwrap();
        assert_eq!(point.get("a"), Some(&ParameterValue::Count(3)));
        assert_eq!(point.get("b").and_then(ParameterValue::number), Some(0.5));
        assert_eq!(point.to_string(), "a 3, b 0.5, c x");
    }
}
