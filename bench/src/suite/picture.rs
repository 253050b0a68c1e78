//! What is drawn, described plainly: the report draws it from the rows alone.

use serde::Deserialize;

/// One picture of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Picture {
    /// The name of its file, without folder and ending.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// Lines, bars or steps.
    #[serde(default)]
    pub shape: LineShape,
    /// A parameter of the point.
    pub x: Axis,
    /// A quantity.
    pub y: Axis,
    /// Parameters that tell one line from another, beside the series.
    #[serde(default)]
    pub series_by: Vec<String>,
    /// Parameters each of whose values has a picture of its own.
    #[serde(default)]
    pub panels_by: Vec<String>,
    /// Only rows whose parameters have these values, as text.
    #[serde(default)]
    pub only: Vec<(String, String)>,
    /// What is fitted through each line.
    pub fit: Option<LineFit>,
    /// The papers' rows beside.
    pub beside: Option<PaperBeside>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The parameter (x) or the quantity (y), by its name in the rows.
    pub of: String,
    /// Its unit, in words where the rows have none.
    #[serde(default)]
    pub unit: String,
    /// Logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// How values are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LineShape {
    /// Medians joined by lines, with a band from least to most.
    #[default]
    Lines,
    /// A bar for each value of x, with whiskers from least to most.
    Bars,
    /// Medians that hold from one value of x to the next, with a band from least to most: the
    /// outline of a histogram.
    Steps,
}

/// What is fitted through the medians of a line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LineFit {
    /// A straight line; its slope is told.
    Line,
    /// A straight line through the origin.
    #[serde(rename = "through origin")]
    ThroughOrigin,
    /// A sum of one or two of the points' parameters, each with a coefficient and no constant term.
    /// `p^2` is the square of the parameter `p`.
    Factors(Vec<String>),
}

/// Rows of a table of the papers that are drawn beside.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperBeside {
    /// The file, without ending, such as `p0_table2_overhead`.
    pub table: String,
    /// Only rows whose columns have these values.
    #[serde(default)]
    pub only: Vec<(String, String)>,
    /// The column of x.
    pub x: String,
    /// The column of y.
    pub y: String,
    /// Columns that tell one mark from another.
    #[serde(default)]
    pub series_by: Vec<String>,
}

impl Picture {
    /// Lines of a quantity over a parameter, one for each series.
    #[must_use]
    pub fn new(key: &str, title: &str, x: Axis, y: Axis) -> Picture {
        Picture {
            key: key.to_owned(),
            title: title.to_owned(),
            shape: LineShape::Lines,
            x,
            y,
            series_by: Vec::new(),
            panels_by: Vec::new(),
            only: Vec::new(),
            fit: None,
            beside: None,
        }
    }
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(of: &str, unit: &str) -> Axis {
        Axis {
            of: of.to_owned(),
            unit: unit.to_owned(),
            log: false,
        }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(of: &str, unit: &str) -> Axis {
        Axis {
            log: true,
            ..Axis::linear(of, unit)
        }
    }
}
