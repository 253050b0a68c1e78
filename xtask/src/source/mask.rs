//! Blanks what is not code.
//!
//! Comments and the insides of string and character literals become spaces, byte for byte, so that
//! offsets and line numbers stay those of the original and a search finds only code.

/// `text` with comments and the insides of literals blanked; same length, same line ends.
pub(crate) fn mask(text: &str) -> String {
    let mut masker = Masker {
        bytes: text.as_bytes(),
        out: text.as_bytes().to_vec(),
        at: 0,
    };
    masker.run();
    String::from_utf8(masker.out)
        .expect("whole literals and comments are blanked, never half a character")
}

struct Masker<'a> {
    bytes: &'a [u8],
    out: Vec<u8>,
    at: usize,
}

impl Masker<'_> {
    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match self.bytes[self.at] {
                b'/' if self.next_is(1, b'/') => self.line_comment(),
                b'/' if self.next_is(1, b'*') => self.block_comment(),
                b'"' => self.string(),
                b'\'' => self.quote(),
                byte if is_ident(byte) => self.word(),
                _ => self.at += 1,
            }
        }
    }

    fn next_is(&self, ahead: usize, byte: u8) -> bool {
        self.bytes.get(self.at + ahead) == Some(&byte)
    }

    fn blank(&mut self, from: usize, to: usize) {
        for byte in &mut self.out[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }

    fn line_comment(&mut self) {
        let from = self.at;
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
        self.blank(from, self.at);
    }

    fn block_comment(&mut self) {
        let from = self.at;
        let mut depth = 0;
        while self.at < self.bytes.len() {
            if self.bytes[self.at] == b'/' && self.next_is(1, b'*') {
                depth += 1;
                self.at += 2;
            } else if self.bytes[self.at] == b'*' && self.next_is(1, b'/') {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    break;
                }
            } else {
                self.at += 1;
            }
        }
        self.at = self.at.min(self.bytes.len());
        self.blank(from, self.at);
    }

    /// At the opening quote of a string with escapes.
    fn string(&mut self) {
        let from = self.at + 1;
        self.at = from;
        while self.at < self.bytes.len() && self.bytes[self.at] != b'"' {
            self.at += if self.bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at = self.at.min(self.bytes.len());
        self.blank(from, self.at);
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// At the opening quote of a raw string that `hashes` signs close.
    fn raw_string(&mut self, hashes: usize) {
        let from = self.at + 1;
        self.at = from;
        while self.at < self.bytes.len() {
            let closes = self.bytes[self.at] == b'"'
                && self.bytes[self.at + 1..]
                    .iter()
                    .take_while(|b| **b == b'#')
                    .count()
                    >= hashes;
            if closes {
                break;
            }
            self.at += 1;
        }
        self.blank(from, self.at);
        self.at = (self.at + 1 + hashes).min(self.bytes.len());
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let from = self.at + 1;
        if self.next_is(1, b'\\') {
            self.at = from + 2;
            while self.at < self.bytes.len() && self.bytes[self.at] != b'\'' {
                self.at += 1;
            }
            self.blank(from, self.at.min(self.bytes.len()));
            self.at += 1;
            return;
        }
        let width = self.bytes.get(from).map_or(1, |first| match first {
            0..=0x7f => 1,
            0x80..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => 4,
        });
        if self.bytes.get(from + width) == Some(&b'\'') {
            self.blank(from, from + width);
            self.at = from + width + 1;
        } else {
            self.at = from;
        }
    }

    /// An identifier, a keyword, a number or the prefix of a literal.
    fn word(&mut self) {
        let from = self.at;
        while self.at < self.bytes.len() && is_ident(self.bytes[self.at]) {
            self.at += 1;
        }
        if matches!(&self.bytes[from..self.at], b"r" | b"br" | b"cr") {
            let hashes = self.bytes[self.at..]
                .iter()
                .take_while(|b| **b == b'#')
                .count();
            if self.next_is(hashes, b'"') {
                self.at += hashes;
                self.raw_string(hashes);
            }
        }
    }
}

fn is_ident(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn comments_of_each_kind_are_blanked_and_lines_stay() {
        let text = "a // unsafe\n/* x /* nested */ y\n */ b /// doc\nc";
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        assert_eq!(
            masked.split_whitespace().collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(masked.lines().count(), text.lines().count());
    }

    #[test]
    fn strings_keep_their_quotes_and_lose_their_insides() {
        assert_eq!(mask(r#"f("a\"b{", b"}")"#), r#"f("     ", b" ")"#);
        assert_eq!(mask("r#\"x\"y{\"# ; z"), "r#\"    \"# ; z");
        assert_eq!(mask(r#"r"\" ; "q""#), r#"r" " ; " ""#);
    }

    #[test]
    fn a_lifetime_is_code_and_a_character_is_not() {
        assert_eq!(mask("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(
            mask("['{', '\\'', 'é', '\\u{7d}']"),
            "[' ', '  ', '  ', '      ']"
        );
    }

    #[test]
    fn a_raw_identifier_is_not_a_raw_string() {
        assert_eq!(mask("r#type = \"{\""), "r#type = \" \"");
    }

    #[test]
    fn an_open_literal_or_comment_ends_with_the_file() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'\\", "\"abc\\"] {
            assert_eq!(mask(text).len(), text.len(), "{text}");
        }
    }
}
