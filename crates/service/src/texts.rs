//! Texts that people write, manifests and flows: TOML, or JSON if they begin with a brace. How much
//! memory one takes is told before it is read.
//!
//! - `texts/toml_room.rs`: what the reader of TOML takes.

mod toml_room;

use serde::de::DeserializeOwned;

/// Bytes of memory for each byte of a text, and for any text.
pub(crate) const EACH: usize = 64;
pub(crate) const BESIDE: usize = 1 << 20;

/// The first node of a map, with room for eleven fields. No list of records, and no list in which a
/// value waits until it is known what it is, takes more for one.
const NODE: usize = 640;

/// A further field: nodes that grow are split, and are half full.
const FIELD: usize = 160;

/// A list that is not empty has room for four.
const LIST: usize = 128;

/// A further item: a list that grows doubles.
const ITEM: usize = 64;

/// Reads a text.
///
/// # Errors
/// What is wrong, and where; or that it would take too much memory, and what to do `instead`.
pub(crate) fn read<T: DeserializeOwned>(text: &str, instead: &str) -> Result<T, String> {
    let is_json = text.trim_start().starts_with('{');
    let most = EACH.saturating_mul(text.len()).saturating_add(BESIDE);
    let room = match is_json {
        true => json_room(text.as_bytes()),
        false => toml_room::room(text.as_bytes()),
    };
    if room > most {
        let less = match is_json {
            true => "",
            false => "write it as JSON, which takes less, or ",
        };
        return Err(format!(
            "its values would take more than {most} bytes of memory; {less}{instead}"
        ));
    }
    match is_json {
        true => serde_json::from_str(text).map_err(|error| error.to_string()),
        false => toml::from_str(text).map_err(|error| placed(text, &error)),
    }
}

/// No less than what reading this text as JSON takes, whether it is JSON or not.
fn json_room(text: &[u8]) -> usize {
    // What is read, what it is read into, and what is said of it if it is wrong.
    let mut room = 8 * text.len();
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' => room += NODE,
            b'[' => room += LIST,
            b',' => room += FIELD,
            _ => {}
        }
    }
    room
}

/// An error of TOML in one line, with its place.
fn placed(text: &str, error: &toml::de::Error) -> String {
    let why = error.message().replace('\n', ", ");
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        None => why,
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            let column = before
                .rsplit('\n')
                .next()
                .map_or(0, |last| last.chars().count())
                + 1;
            format!("{why}, at line {line} column {column}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_texts_of_json_takes_nothing_more() {
        assert_eq!(json_room(br#""{[,\"{""#), 8 * 8);
        assert_eq!(json_room(br#"{"a":[1,2]}"#), 8 * 11 + NODE + LIST + FIELD);
    }
}
