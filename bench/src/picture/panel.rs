//! What a picture shows: lines of values and axes that hold them.

use super::scale::Scale;
use crate::suite::LineShape;

/// One picture, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The name of its file, without folder and ending.
    pub file: String,
    /// Its heading.
    pub title: String,
    /// Lines, bars or steps.
    pub shape: LineShape,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// What the horizontal axis shows.
    pub x_title: String,
    /// What the vertical axis shows, and in what.
    pub y_title: String,
    /// Motet's lines, the peers', the papers'.
    pub lines: Vec<PanelLine>,
    /// What the reader must know, such as values that are not shown.
    pub notes: Vec<String>,
}

/// Values that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelLine {
    /// Its name in the legend.
    pub label: String,
    /// Whose values they are.
    pub origin: Origin,
    /// Its place among the lines of its origin in all panels of the picture; the same line has the
    /// same colour in each.
    pub turn: usize,
    /// The values, in the order of x.
    pub marks: Vec<Mark>,
    /// What is fitted through them.
    pub fit: Option<Fitted>,
    /// The factors of each mark, when a model of factors is asked for.
    pub(super) factors: Vec<Vec<f64>>,
}

/// Whose values a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Motet's, measured here.
    Motet,
    /// A peer's, measured here.
    Peer,
    /// A paper's, measured there and then.
    Paper,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// Where; on an axis of words the word's place.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// A model through a line's marks.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Points of the model's curve.
    pub curve: Vec<(f64, f64)>,
    /// Its coefficients, in words.
    pub text: String,
}

impl Panel {
    /// Whether anything in it was measured here.
    pub(super) fn has_measured(&self) -> bool {
        let measured = |line: &PanelLine| line.origin != Origin::Paper && !line.marks.is_empty();
        self.lines.iter().any(measured)
    }
}
