//! Texts that live as long as the program.

use motet_sync::Mutex;
use std::collections::HashSet;
use std::sync::OnceLock;

/// A text that lives as long as the program; the same for equal texts. For what there is little of:
/// the names of types, source files and calls that other processes tell.
///
/// ```
/// let one = motet_trace::known(&String::from("recv"));
/// assert!(std::ptr::eq(one, motet_trace::known("recv")));
/// ```
pub fn known(text: &str) -> &'static str {
    static TEXTS: OnceLock<Mutex<HashSet<&'static str>>> = OnceLock::new();
    let mut texts = TEXTS.get_or_init(Mutex::default).lock();
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = text.to_owned().leak();
    texts.insert(text);
    text
}
