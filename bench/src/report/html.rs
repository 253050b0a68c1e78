//! A page of HTML, written element by element: whatever is not markup is escaped.

use crate::text::escape;
use std::fmt::Write;

/// A page, or part of one.
#[derive(Debug, Default)]
pub(super) struct Html {
    text: String,
}

impl Html {
    /// An element that begins; [`Html::close`] ends it.
    pub(super) fn open(&mut self, tag: &str, attributes: &[(&str, &str)]) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escape(value));
        }
        self.text.push('>');
    }

    pub(super) fn close(&mut self, tag: &str) {
        let _ = writeln!(self.text, "</{tag}>");
    }

    /// Text, whatever it holds.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(&escape(text));
    }

    /// An element that holds only text.
    pub(super) fn element(&mut self, tag: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// A paragraph.
    pub(super) fn p(&mut self, text: &str) {
        self.element("p", &[], text);
    }

    /// A link.
    pub(super) fn link(&mut self, to: &str, text: &str) {
        self.open("a", &[("href", to)]);
        self.text(text);
        self.text.push_str("</a>");
    }

    /// A heading with an anchor of its own, which it links to.
    pub(super) fn heading(&mut self, level: u8, anchor: &str, text: &str) {
        let tag = format!("h{level}");
        self.open(&tag, &[("id", anchor)]);
        self.link(&format!("#{anchor}"), text);
        self.close(&tag);
    }

    /// Markup that this program has made: a picture, a style sheet.
    pub(super) fn markup(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A table that scrolls inside its box. Each row tells its own cells.
    pub(super) fn table<T>(
        &mut self,
        headings: &[&str],
        rows: impl IntoIterator<Item = T>,
        mut cells: impl FnMut(&mut Html, T),
    ) {
        self.open("div", &[("class", "scroll"), ("tabindex", "0")]);
        self.open("table", &[]);
        self.open("thead", &[]);
        self.open("tr", &[]);
        for heading in headings {
            self.element("th", &[("scope", "col")], heading);
        }
        self.close("tr");
        self.close("thead");
        self.open("tbody", &[]);
        for row in rows {
            self.open("tr", &[]);
            cells(self, row);
            self.close("tr");
        }
        self.close("tbody");
        self.close("table");
        self.close("div");
    }

    /// A cell of text.
    pub(super) fn cell(&mut self, text: &str) {
        self.element("td", &[], text);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut html = Html::default();
        html.heading(2, "a", "<script>alert(1)</script>");
        html.link("\" onclick=\"x", "&");
        html.table(&["<b>"], ["<i>"], |html, cell| html.cell(cell));
        let text = html.finish();
        for markup in ["<script", "<b>", "<i>", " onclick=\"x\""] {
            assert!(!text.contains(markup), "{markup}: {text}");
        }
        assert!(text.contains("&lt;script&gt;") && text.contains("&quot; onclick"));
    }
}
