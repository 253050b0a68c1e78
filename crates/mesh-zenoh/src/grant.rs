//! Who a member is, and what it may: a text that the authority of the mesh signs.
//!
//! ```text
//! motet mesh grant 1
//! name camera
//! until 1798137000              seconds since 1970; or: ever
//! publish camera/**             as many as there are filters; or, in place of both: all
//! subscribe steer/*
//! member 1f…                    the public key by which it signs
//! ```
//!
//! Keys have no blanks and no ends of lines, so a text says one thing. What has another form, or
//! other blanks, is none.

use crate::key::{bytes_of, digits};
use motet_mesh::{Key, MeshRights};
use std::fmt::Write;

/// The first line, which nothing else that is signed begins with.
const FIRST: &str = "motet mesh grant 1";

/// The longest grant, in bytes: it is sent in each handshake.
pub(crate) const MAX_GRANT: usize = 8 << 10;

/// A public key of Ed25519.
pub(crate) type PublicKey = [u8; 32];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) name: String,
    /// In seconds since 1970, from when on it counts no more.
    pub(crate) until: Option<u64>,
    pub(crate) rights: MeshRights,
    pub(crate) member: PublicKey,
}

impl Grant {
    /// What is signed.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{FIRST}\nname {}\nuntil ", self.name);
        // Nothing fails that writes into a text.
        let _ = match self.until {
            Some(until) => writeln!(text, "{until}"),
            None => writeln!(text, "ever"),
        };
        match self.rights.filters() {
            None => text.push_str("all\n"),
            Some((publish, subscribe)) => {
                for (word, filters) in [("publish", publish), ("subscribe", subscribe)] {
                    for filter in filters {
                        let _ = writeln!(text, "{word} {filter}");
                    }
                }
            }
        }
        let _ = writeln!(text, "member {}", digits(&self.member));
        text
    }

    /// `None`: it is no grant.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_GRANT {
            return None;
        }
        let mut lines = text.lines().peekable();
        if lines.next() != Some(FIRST) {
            return None;
        }
        let name = lines.next()?.strip_prefix("name ")?;
        let name = is_name(name).then(|| name.to_owned())?;
        let until = match lines.next()?.strip_prefix("until ")? {
            "ever" => None,
            seconds => Some(seconds.parse().ok()?),
        };
        let is_all = lines.next_if_eq(&"all").is_some();
        let mut filters = |word: &str| {
            let mut keys = Vec::new();
            while let Some(key) = lines.peek().and_then(|line| line.strip_prefix(word)) {
                keys.push(Key::new(key).ok()?);
                lines.next();
            }
            Some(keys)
        };
        let (publish, subscribe) = (filters("publish ")?, filters("subscribe ")?);
        let member = bytes_of(lines.next()?.strip_prefix("member ")?)?;
        let rights = match is_all {
            true => MeshRights::all(),
            false => MeshRights::only(publish, subscribe),
        };
        let grant = Grant {
            name,
            until,
            rights,
            member,
        };
        // Of each grant there is one text.
        (grant.text() == text).then_some(grant)
    }

    /// Whether it counts no more.
    pub(crate) fn has_ended(&self, now: u64) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

/// Whether a node may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grant() -> Grant {
        let keys = |filters: &[&str]| filters.iter().map(|it| Key::new(it).unwrap()).collect();
        Grant {
            name: "camera".to_owned(),
            until: Some(1_798_137_000),
            rights: MeshRights::only(keys(&["camera/**", "a/*"]), keys(&["steer/*"])),
            member: [31; 32],
        }
    }

    #[test]
    fn sem_g561_a_grant_has_one_text() {
        let all = Grant {
            until: None,
            rights: MeshRights::all(),
            ..grant()
        };
        for grant in [grant(), all] {
            assert_eq!(Grant::read(&grant.text()), Some(grant));
        }
        let text = grant().text();
        for (from, to) in [
            ("grant 1", "grant 2"),
            ("name camera\n", "name camera\nname other\n"),
            ("until 1798137000", "until 01798137000"),
            ("until 1798137000", "until +1798137000"),
            ("publish camera/**", "all\npublish camera/**"),
            ("publish camera/**", "publish camera//**"),
            (
                "publish a/*\nsubscribe steer/*",
                "subscribe steer/*\npublish a/*",
            ),
            ("member 1f", "member 1F"),
            ("\n", "\r\n"),
        ] {
            let other = text.replacen(from, to, 1);
            assert!(other != text && Grant::read(&other).is_none(), "{other}");
        }
        assert!(Grant::read(&format!("{text}\n")).is_none());
        assert!(Grant::read(&text[..text.len() - 1]).is_none());
    }

    /// Lines as grants have them, and such as they have not.
    fn line() -> impl Strategy<Value = String> {
        let words = [
            "name ",
            "until ",
            "publish ",
            "subscribe ",
            "member ",
            "all",
            "",
        ];
        let rests = [
            "", "a", "a/*", "**", "ever", "7", "07", " a", "\u{e9}", "a\rb",
        ];
        let word = prop::sample::select(words.to_vec());
        let rest = prop::sample::select(rests.to_vec());
        let made = (word, rest);
        prop_oneof![
            3 => made.prop_map(|(word, rest)| format!("{word}{rest}")),
            1 => Just(format!("member {}", digits(&[31; 32]))),
            1 => ".{0,40}",
        ]
    }

    #[test]
    fn sem_g561_what_is_longer_than_a_grant_is_none() {
        let filters = (0..MAX_GRANT).map(|n| Key::new(&format!("a/{n}")).unwrap());
        let long = Grant {
            rights: MeshRights::only(filters.collect(), Vec::new()),
            ..grant()
        };
        assert_eq!(Grant::read(&long.text()), None);
    }

    proptest! {
        #[test]
        fn prop_sem_g561_lines_that_somebody_makes_up_are_none_or_the_one_text_of_a_grant(
            lines in prop::collection::vec(line(), 0..8),
            begins in any::<bool>(),
        ) {
            let middle = lines.join("\n");
            let last = digits(&[31; 32]);
            let text = match begins {
                true => format!("{FIRST}\nname a\nuntil ever\n{middle}\nmember {last}\n"),
                false => format!("{FIRST}\n{middle}\n"),
            };
            if let Some(read) = Grant::read(&text) {
                prop_assert_eq!(read.text(), text);
            }
        }

        #[test]
        fn prop_sem_g561_a_text_that_is_changed_is_none_or_says_so(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = grant().text().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(text) = std::str::from_utf8(&bytes)
                && let Some(read) = Grant::read(text)
            {
                prop_assert_eq!(read.text(), text);
            }
        }
    }
}
