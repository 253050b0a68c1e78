//! The trace of which a call is a part, as W3C Trace Context names it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// The trace of which a call is a part, and who has made the call: what the header `traceparent` of
/// W3C Trace Context says. The calls that a handler makes are parts of the trace of its own.
///
/// ```
/// use motet_service::TraceParent;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let trace = TraceParent::parse(text).unwrap();
/// assert_eq!(trace.to_string(), text);
/// assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
/// assert_eq!(TraceParent::parse("00-0-0-01"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: u128,
    parent: u64,
    flags: u8,
}

/// The length of what all versions have.
const LENGTH: usize = 55;
/// The flags that mean something: sampled, and random numbers.
const KNOWN: u8 = 0b11;

impl TraceParent {
    /// Reads what the header says. `None`: it is no such header, and is to be left out.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (known, more) = text.split_at_checked(LENGTH)?;
        let mut parts = known.split('-');
        let mut part = |digits| hex(parts.next()?, digits);
        let (version, trace) = (part(2)?, part(32)?);
        let (parent, flags) = (part(16)?, part(2)?);
        let is_taken = match version {
            0 => more.is_empty(),
            // No version has this number.
            0xff => false,
            // What is behind is of a later version.
            _ => more.is_empty() || more.starts_with('-'),
        };
        let read = TraceParent {
            trace,
            parent: parent.try_into().ok()?,
            flags: u8::try_from(flags).ok()? & KNOWN,
        };
        (is_taken && read.trace != 0 && read.parent != 0).then_some(read)
    }

    /// What is the same for all calls of the trace: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// Who has made the call: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_id(&self) -> String {
        format!("{:016x}", self.parent)
    }

    /// The same trace for a call that is sent on: its parent is a new one.
    #[must_use]
    pub fn child(&self) -> TraceParent {
        let mut parent = 0;
        while parent == 0 {
            // Each state has keys that no other has.
            parent = RandomState::new().hash_one(self.parent);
        }
        TraceParent { parent, ..*self }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TraceParent {
            trace,
            parent,
            flags,
        } = self;
        write!(f, "00-{trace:032x}-{parent:016x}-{flags:02x}")
    }
}

/// A number of so many hexadecimal digits, none of which is a capital.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn sem_g612_headers_are_read_as_the_standard_says() {
        let zeros = "0".repeat(32);
        let capitals = TRACE.to_uppercase();
        let right = |version: &str, flags: &str| format!("{version}-{TRACE}-{PARENT}-{flags}");
        for (text, written) in [
            (right("00", "01"), right("00", "01")),
            (right("00", "00"), right("00", "00")),
            // What other flags mean is not known.
            (right("00", "ff"), right("00", "03")),
            (right("00", "08"), right("00", "00")),
            // A later version begins as this one.
            (right("01", "01"), right("00", "01")),
            (right("cc", "01-what-comes"), right("00", "01")),
            (right("fe", "01-"), right("00", "01")),
        ] {
            let read = TraceParent::parse(&text).map(|read| read.to_string());
            assert_eq!(read.as_deref(), Some(&*written), "{text}");
        }
        for wrong in [
            String::new(),
            "-".repeat(LENGTH),
            right("ff", "01"),
            right("0", "01"),
            right("000", "01"),
            right("0x", "01"),
            right("00", "1"),
            right("00", "001"),
            right("00", "0A"),
            right("00", "01-"),
            right("00", "01-what-comes"),
            right("cc", "01what-comes"),
            right("cc", "01."),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{capitals}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", PARENT.to_uppercase()),
            format!("00-{}-{PARENT}-01", &TRACE[1..]),
            format!("00-{TRACE}0-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &PARENT[1..]),
            format!("00-{TRACE}-{PARENT}0-01"),
            format!("00-{PARENT}-{TRACE}-01"),
            format!("00-{TRACE}_{PARENT}-01"),
            format!("00-+{}-{PARENT}-01", &TRACE[1..]),
            format!("00-{TRACE}-{PARENT}"),
            format!(" {}", right("00", "01")),
            format!("00-{}ä-{PARENT}-01", &TRACE[2..]),
            right("00", "01").replace('b', "ä"),
        ] {
            assert_eq!(TraceParent::parse(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn sem_g612_a_child_has_the_trace_and_a_parent_of_its_own() {
        let text = format!("00-{TRACE}-{PARENT}-01");
        let read = TraceParent::parse(&text).unwrap();
        let (one, other) = (read.child(), read.child());
        assert_eq!([one.trace_id(), other.trace_id()], [TRACE, TRACE]);
        let parents = [read, one, other].map(|trace| trace.parent_id());
        assert_eq!(parents[0], PARENT);
        assert!(
            parents[0] != parents[1] && parents[1] != parents[2],
            "{parents:?}"
        );
        assert_eq!(TraceParent::parse(&one.to_string()), Some(one));
    }
}
