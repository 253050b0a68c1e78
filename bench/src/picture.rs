//! Pictures, drawn from rows alone.
//!
//! An experiment says what is drawn ([`Picture`]). [`panels`] finds the values among the rows and
//! the papers' beside them, and decides the axes. [`Panel::svg`] and [`Panel::png`] draw. The same
//! rows give the same bytes on every machine.
//!
//! ```text
//!  Picture + rows ──> panels ──> Panel ──> draw ──> canvas ──> SVG | PNG
//!     papers' tables ──┘           └─ scale, style
//! ```

mod canvas;
mod draw;
mod labels;
mod model;
mod panel;
mod plan;
mod scale;
mod style;

pub use panel::{Fitted, Mark, Origin, Panel, PanelLine};
pub use plan::panels;
pub use scale::Scale;

#[cfg(doc)]
use crate::suite::Picture;
use draw::{Layout, draw};

impl Panel {
    /// As an SVG document.
    #[must_use]
    pub fn svg(&self) -> String {
        let layout = Layout::of(self);
        canvas::svg(layout.size(self), &self.title, |canvas| {
            draw(self, &layout, canvas);
        })
    }

    /// As a PNG file, at twice the size of the SVG document.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        let layout = Layout::of(self);
        canvas::png(layout.size(self), |canvas| draw(self, &layout, canvas))
    }
}
