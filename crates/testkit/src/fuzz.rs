//! Inputs that nobody has foreseen, and how much memory their readers take.

use crate::{Random, most_memory};

/// Texts that are right, and pieces of which others are made.
#[derive(Debug, Clone, Copy)]
pub struct Corpus {
    /// What is right.
    pub whole: &'static [&'static str],
    /// What is put into it.
    pub pieces: &'static [&'static str],
}

impl Corpus {
    /// An input is no longer.
    pub const LONGEST: usize = 8 << 10;

    /// One of the texts with a few changes, or any bytes.
    pub fn next(&self, random: &mut Random) -> Vec<u8> {
        if random.below(16) == 0 {
            let length = random.below(200);
            return (0..length).map(|_| any_byte(random)).collect();
        }
        let mut bytes = self.whole[random.below(self.whole.len())]
            .as_bytes()
            .to_vec();
        for _ in 0..random.below(7) {
            self.change(&mut bytes, random);
            bytes.truncate(Self::LONGEST);
        }
        bytes
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let from = random.below(bytes.len() + 1);
        let to = (from + random.below(24)).min(bytes.len());
        let piece = self.pieces[random.below(self.pieces.len())].as_bytes();
        match random.below(7) {
            0 => drop(bytes.drain(from..to)),
            1 => drop(bytes.splice(from..from, piece.to_vec())),
            2 => drop(bytes.splice(from..to, piece.to_vec())),
            3 => {
                let again = bytes[from..to].repeat(1 << random.below(9));
                drop(bytes.splice(from..from, again));
            }
            4 => drop(bytes.splice(from..from, piece.repeat(1 << random.below(11)))),
            5 => {
                let other = self.whole[random.below(self.whole.len())].as_bytes();
                let begin = random.below(other.len() + 1);
                bytes.truncate(from);
                bytes.extend_from_slice(&other[begin..]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte = any_byte(random);
                }
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "it is below 256")]
fn any_byte(random: &mut Random) -> u8 {
    random.below(256) as u8
}

/// How many bytes of memory a reader may take at most, while it reads an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryBound {
    /// However short the input is.
    pub beside: usize,
    /// For each byte of the input, beside these.
    pub each: usize,
}

impl MemoryBound {
    /// None: the test counts by itself what is to be counted.
    pub const NONE: MemoryBound = MemoryBound::fixed(usize::MAX);

    /// So many, however long the input is.
    #[must_use]
    pub const fn fixed(beside: usize) -> Self {
        MemoryBound { beside, each: 0 }
    }

    fn of(self, length: usize) -> usize {
        self.beside.saturating_add(self.each.saturating_mul(length))
    }
}

/// 16 KiB, and 64 for each byte of the input.
impl Default for MemoryBound {
    fn default() -> Self {
        MemoryBound {
            beside: 16 << 10,
            each: 64,
        }
    }
}

/// An input, which is printed if its test panics.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input: b\"{}\"", self.0.escape_ascii());
        }
    }
}

/// Gives a reader the texts of a corpus and so many inputs made of them. It takes no more memory
/// than `bound` allows, where the allocator is [`Counting`](crate::Counting).
///
/// # Panics
/// When it takes more.
///
/// ```
/// use motet_testkit::{Corpus, MemoryBound, fuzz};
///
/// let corpus = Corpus { whole: &["1, 2"], pieces: &[",", "-"] };
/// let bound = MemoryBound::default();
/// fuzz(100, &corpus, bound, |bytes| drop(String::from_utf8_lossy(bytes).parse::<i32>()));
/// ```
pub fn fuzz(inputs: usize, corpus: &Corpus, bound: MemoryBound, mut read: impl FnMut(&[u8])) {
    let mut random = Random::new(inputs as u64);
    let texts = corpus.whole.iter().map(|text| text.as_bytes().to_vec());
    let changed = (0..inputs).map(|_| corpus.next(&mut random));
    for input in texts.chain(changed) {
        let shown = Shown(&input);
        let ((), taken) = most_memory(|| read(shown.0));
        let allowed = bound.of(input.len());
        assert!(
            taken <= allowed,
            "{taken} bytes for {} of the input, not {allowed}",
            input.len()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryBound;

    #[test]
    fn what_is_beside_does_not_grow_with_the_input() {
        let fixed = MemoryBound::fixed(1000);
        assert_eq!([0, 1, 8000].map(|length| fixed.of(length)), [1000; 3]);
        let both = MemoryBound {
            beside: 1000,
            each: 3,
        };
        assert_eq!(
            [0, 1, 100].map(|length| both.of(length)),
            [1000, 1003, 1300]
        );
        assert_eq!(MemoryBound::default().of(100), (16 << 10) + 6400);
        assert_eq!(MemoryBound::NONE.of(usize::MAX), usize::MAX);
    }
}
