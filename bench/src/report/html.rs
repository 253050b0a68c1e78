//! What several parts of the page are made of.

use maud::{Markup, Render, html};

/// A table that scrolls inside its box, of rows of cells.
pub(super) fn table(headings: &[&str], rows: impl IntoIterator<Item = Markup>) -> Markup {
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody { @for row in rows { tr { (row) } "\n" } }
            }
        }
    }
}

/// A cell of a table.
pub(super) fn cell(content: impl Render) -> Markup {
    html! { td { (content) } "\n" }
}

/// A cell of a class, such as `value` or `says`.
pub(super) fn cell_of(class: &str, content: impl Render) -> Markup {
    html! { td class=(class) { (content) } "\n" }
}

/// A link to a place of the page.
pub(super) fn link(anchor: &str, text: &str) -> Markup {
    html! { a href={ "#" (anchor) } { (text) } }
}

/// A heading with an anchor of its own, which it links to.
pub(super) fn heading(anchor: &str, text: &str) -> Markup {
    html! { h2 id=(anchor) { (link(anchor, text)) } "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let text = html! {
            (heading("a", "<script>alert(1)</script>"))
            (link("\" onclick=\"x", "&"))
            (table(&["<b>"], [cell("<i>")]))
        };
        let text = text.into_string();
        for markup in ["<script", "<b>", "<i>", " onclick=\"x\""] {
            assert!(!text.contains(markup), "{markup}: {text}");
        }
        assert!(text.contains("&lt;script&gt;") && text.contains("&quot; onclick"));
    }
}
