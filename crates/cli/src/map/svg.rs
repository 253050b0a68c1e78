//! A page of SVG, written element by element.

use std::fmt::Write;

use crate::text::escape;

/// Where a text is attached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    /// At its beginning.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Type {
    /// Its height in pixels.
    pub(crate) size: f64,
    /// Its colour.
    pub(crate) colour: &'static str,
    /// Whether it is bold.
    pub(crate) bold: bool,
    /// Where it is attached.
    pub(crate) anchor: Anchor,
}

/// A page that grows.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
}

impl Page {
    /// A white page of `width` × `height` pixels; `title` is what readers without eyes hear.
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Page {
        let mut page = Page {
            text: String::new(),
        };
        page.raw(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" style=\"max-width:100%;height:auto\" role=\"img\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n<title>{}</title>",
            escape(title)
        ));
        page.raw(format_args!(
            "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
        ));
        page
    }

    /// One line of markup, written as it is.
    pub(crate) fn raw(&mut self, markup: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(markup);
        self.text.push('\n');
    }

    /// A text at `x`, `y` (its baseline), turned by `degrees` clockwise.
    pub(crate) fn text(&mut self, [x, y]: [f64; 2], degrees: f64, look: Type, text: &str) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if look.bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let turn = if degrees == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({degrees} {x:.1} {y:.1})\"")
        };
        self.raw(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" \
             fill=\"{colour}\"{anchor}{weight}{turn}>{text}</text>",
            size = look.size,
            colour = look.colour,
            text = escape(text),
        ));
    }

    /// The page as a file.
    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}
