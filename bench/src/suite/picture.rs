//! What is drawn, described plainly: the report draws it from the rows alone.

/// One picture of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Picture {
    /// The name of its file, without folder and ending.
    pub key: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Lines or bars.
    pub shape: LineShape,
    /// A parameter of the point.
    pub x: Axis,
    /// A quantity.
    pub y: Axis,
    /// Parameters that tell one line from another, beside the series.
    pub series_by: &'static [&'static str],
    /// Parameters each of whose values has a picture of its own.
    pub panels_by: &'static [&'static str],
    /// Only rows whose parameters have these values, as text.
    pub only: &'static [(&'static str, &'static str)],
    /// What is fitted through each line.
    pub fit: Option<LineFit>,
    /// The papers' rows beside.
    pub beside: Option<PaperBeside>,
}

/// One axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// The parameter (x) or the quantity (y), by its name in the rows.
    pub of: &'static str,
    /// Its unit, in words where the rows have none.
    pub unit: &'static str,
    /// Logarithmic.
    pub log: bool,
}

/// How values are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineShape {
    /// Medians joined by lines, with a band from least to most.
    Lines,
    /// A bar for each value of x, with whiskers from least to most.
    Bars,
}

/// What is fitted through the medians of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineFit {
    /// A straight line; its slope is told.
    Line,
    /// A straight line through the origin.
    ThroughOrigin,
    /// A sum of one or two of the points' parameters, each with a coefficient and no constant term;
    /// `p^2` is the square of the parameter `p`.
    Factors(&'static [&'static str]),
}

/// Rows of a table of the papers that are drawn beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperBeside {
    /// The file, without ending, such as `p0_table2_overhead`.
    pub table: &'static str,
    /// Only rows whose columns have these values.
    pub only: &'static [(&'static str, &'static str)],
    /// The column of x.
    pub x: &'static str,
    /// The column of y.
    pub y: &'static str,
    /// Columns that tell one mark from another.
    pub series_by: &'static [&'static str],
}

impl Picture {
    /// Lines of a quantity over a parameter, one for each series.
    #[must_use]
    pub const fn new(key: &'static str, title: &'static str, x: Axis, y: Axis) -> Picture {
        Picture {
            key,
            title,
            shape: LineShape::Lines,
            x,
            y,
            series_by: &[],
            panels_by: &[],
            only: &[],
            fit: None,
            beside: None,
        }
    }

    /// As bars.
    #[must_use]
    pub const fn bars(self) -> Picture {
        Picture {
            shape: LineShape::Bars,
            ..self
        }
    }

    /// Lines of their own for each value of these parameters.
    #[must_use]
    pub const fn series_by(self, series_by: &'static [&'static str]) -> Picture {
        Picture { series_by, ..self }
    }

    /// Pictures of their own for each value of these parameters.
    #[must_use]
    pub const fn panels_by(self, panels_by: &'static [&'static str]) -> Picture {
        Picture { panels_by, ..self }
    }

    /// Only rows with these values.
    #[must_use]
    pub const fn only(self, only: &'static [(&'static str, &'static str)]) -> Picture {
        Picture { only, ..self }
    }

    /// With a fit through each line.
    #[must_use]
    pub const fn fit(self, fit: LineFit) -> Picture {
        Picture {
            fit: Some(fit),
            ..self
        }
    }

    /// With rows of the papers beside.
    #[must_use]
    pub const fn beside(self, beside: PaperBeside) -> Picture {
        Picture {
            beside: Some(beside),
            ..self
        }
    }
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub const fn linear(of: &'static str, unit: &'static str) -> Axis {
        Axis {
            of,
            unit,
            log: false,
        }
    }

    /// A logarithmic axis.
    #[must_use]
    pub const fn log(of: &'static str, unit: &'static str) -> Axis {
        Axis {
            of,
            unit,
            log: true,
        }
    }
}
