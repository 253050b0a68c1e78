//! How much memory the reader of TOML takes: it has a list of all tokens, one of what they mean,
//! and then a document, of which the values are made.

use super::{FIELD, ITEM, LIST, NODE};

/// A token, and what it means: of what is wrong, as much again.
const TOKEN: usize = 24;
const MEANING: usize = 2 * TOKEN;

/// A table of the document: its first node has room for eleven keys.
const TABLE: usize = 1088;

/// A further key of the document: nodes that grow are split, and are half full.
const KEY: usize = 256;

/// So many keys of a table are in its node; those that come next are counted as further ones.
const IN_NODE: usize = 3;

/// A list of the document has room for four, and doubles.
const DOCUMENT_LIST: usize = 224;
const DOCUMENT_ITEM: usize = 112;

/// What ends a word.
const APART: &[u8] = b".=,[]{} \t#\r\n";

/// No less than what reading this text as TOML takes, whether it is TOML or not.
pub(super) fn room(text: &[u8]) -> usize {
    let mut seen = SeenTokens::default();
    let mut rest = text;
    while !rest.is_empty() {
        let (token, behind) = rest.split_at(length(rest));
        seen.take(token);
        rest = behind;
    }
    // There is one for the end.
    let tokens = seen.tokens + 1;
    let mut list = (text.len() / 7 * 2).max(4);
    while list < tokens {
        list *= 2;
    }
    let parts = TOKEN * list + MEANING * tokens;
    4 * text.len() + seen.document + parts.max(seen.values)
}

/// What the tokens so far take.
#[derive(Default)]
struct SeenTokens {
    tokens: usize,
    /// In the document.
    document: usize,
    /// In the values that are made of it.
    values: usize,
    /// What is open: a list, or else a table.
    open: Vec<bool>,
    /// A value begins, or has begun: a dot is that of a number.
    is_value: bool,
    /// The text is no TOML: any dot may be that of a key.
    is_wrong: bool,
    /// The brackets of a header that have come just before.
    brackets: usize,
    /// The keys since a table has begun.
    keys: usize,
}

impl SeenTokens {
    fn take(&mut self, token: &[u8]) {
        self.tokens += 1;
        let brackets = std::mem::take(&mut self.brackets);
        match token {
            b"." if !self.is_value || self.is_wrong => self.table(),
            b"=" => self.key(),
            b"," => {
                self.document += DOCUMENT_ITEM;
                self.values += ITEM;
                self.is_wrong |= self.open.is_empty();
                self.is_value = self.is_in_list();
            }
            b"[" if self.is_value => {
                self.open.push(true);
                self.document += DOCUMENT_LIST;
                self.values += LIST;
            }
            b"[" => {
                // Two of them are one table, of a list.
                if brackets.is_multiple_of(2) {
                    self.table();
                    self.document += DOCUMENT_LIST;
                    self.keys = 0;
                }
                self.is_wrong |= !self.open.is_empty();
                self.brackets = brackets + 1;
            }
            b"{" => {
                self.is_wrong |= !self.is_value;
                self.table();
                self.open.push(false);
                (self.is_value, self.keys) = (false, 0);
            }
            b"]" if self.open.is_empty() => self.is_wrong |= self.is_value,
            b"]" => self.close(true),
            b"}" => {
                self.close(false);
                self.keys = IN_NODE;
            }
            [b'\n' | b'\r', ..] if self.open.is_empty() => self.is_value = false,
            _ => {}
        }
    }

    fn is_in_list(&self) -> bool {
        self.open.last().is_some_and(|is_list| *is_list)
    }

    /// A table begins, which is in another by its key.
    fn table(&mut self) {
        self.document += TABLE + KEY;
        self.values += NODE + FIELD;
    }

    fn key(&mut self) {
        self.keys += 1;
        if self.keys > IN_NODE {
            self.document += KEY;
        }
        self.values += FIELD;
        self.is_wrong |= self.is_value;
        self.is_value = true;
    }

    /// A list ends, or else a table.
    fn close(&mut self, is_list: bool) {
        if self.open.last() == Some(&is_list) {
            self.open.pop();
        } else {
            self.is_wrong = true;
        }
        // It was one.
        self.is_value = true;
    }
}

/// How long the first token is, at least one byte.
fn length(text: &[u8]) -> usize {
    let count = |is_one: fn(u8) -> bool| text.iter().take_while(|byte| is_one(**byte)).count();
    match text[0] {
        b' ' | b'\t' => count(|byte| matches!(byte, b' ' | b'\t')),
        b'#' => count(|byte| !matches!(byte, b'\r' | b'\n')),
        b'\r' if text.get(1) == Some(&b'\n') => 2,
        b'\'' if text.starts_with(b"'''") => long_string(text, b'\''),
        b'"' if text.starts_with(b"\"\"\"") => long_string(text, b'"'),
        quote @ (b'\'' | b'"') => string(text, quote),
        byte if APART.contains(&byte) => 1,
        _ => count(|byte| !APART.contains(&byte)),
    }
}

/// How long a text in quotes is: it ends with its line at the latest.
fn string(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match *byte {
            b'\n' => return at,
            b'\\' if quote == b'"' => at += escaped(&text[at..]),
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// How long a text in three quotes is; two more of them may be its own.
fn long_string(text: &[u8], quote: u8) -> usize {
    let mut at = 3;
    while at < text.len() {
        let rest = &text[at..];
        match rest[0] {
            b'\\' if quote == b'"' => at += escaped(rest),
            _ if rest.starts_with(&[quote; 3]) => {
                let quotes = rest.iter().take(5).take_while(|byte| **byte == quote);
                return at + quotes.count();
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// How long an escape is, as far as it matters where the text ends.
fn escaped(rest: &[u8]) -> usize {
    match rest.get(1) {
        Some(b'\\' | b'"') => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text.
    fn tokens(mut text: &str) -> Vec<&str> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let (token, rest) = text.split_at(length(text.as_bytes()));
            tokens.push(token);
            text = rest;
        }
        tokens
    }

    #[test]
    fn texts_in_quotes_are_one_token() {
        let cases: [(&str, &[&str]); 7] = [
            ("a.b = 1\r\n", &["a", ".", "b", " ", "=", " ", "1", "\r\n"]),
            ("\"{\\\"[\", '{\\'", &["\"{\\\"[\"", ",", " ", "'{\\'"]),
            ("'open\n{", &["'open", "\n", "{"]),
            ("\"open", &["\"open"]),
            ("'''a\n'{'''''{", &["'''a\n'{'''''", "{"]),
            ("\"\"\"\\\"\"\"{\"\"\"[", &["\"\"\"\\\"\"\"{\"\"\"", "["]),
            ("\t # {\r\n]", &["\t ", "# {", "\r\n", "]"]),
        ];
        for (text, wanted) in cases {
            assert_eq!(tokens(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn tables_keys_and_lists_take_room() {
        let document = |text: &str| {
            let mut seen = SeenTokens::default();
            tokens(text)
                .iter()
                .for_each(|token| seen.take(token.as_bytes()));
            (seen.document, seen.is_wrong)
        };
        let record = TABLE + KEY + DOCUMENT_LIST;
        assert_eq!(document("[[a]]\nb = 1.5\nc = '{.,'\n"), (record, false));
        assert_eq!(document("a = 1\nb = 1\nc = 1\nd = 1\n"), (KEY, false));
        let list = DOCUMENT_LIST + DOCUMENT_ITEM;
        assert_eq!(document("a = [1.5,\n 2.5]\n"), (list, false));
        let inner = TABLE + KEY;
        assert_eq!(document("a = { b = 1 }\nc = 1\n"), (inner + KEY, false));
        assert_eq!(document("a.b = 1\n"), (inner, false));
        // What is no TOML takes more, not less.
        assert_eq!(document("a = ]1.2"), (inner, true));
    }
}
