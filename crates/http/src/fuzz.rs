//! What a stranger may send, with a few changes, or anything. What comes is a refusal or an answer,
//! never a panic, and no memory that a small message makes large.

mod corpus;
mod targets;

use motet_testkit::{Counting, Random, most_memory};

#[global_allocator]
static MEMORY: Counting = Counting;

/// An input is no longer.
const LONGEST: usize = 8 << 10;

/// Bytes of memory for each byte of an input.
const EACH: usize = 64;

/// What a reader has for itself, however short the input.
const OWN: usize = 16 << 10;

/// Texts that are right, and pieces of which others are made.
struct Corpus {
    whole: &'static [&'static str],
    pieces: &'static [&'static str],
}

impl Corpus {
    /// One of the texts with a few changes, or any bytes.
    fn next(&self, random: &mut Random) -> Vec<u8> {
        if random.below(16) == 0 {
            let length = random.below(200);
            return (0..length).map(|_| random.below(256) as u8).collect();
        }
        let mut bytes = self.whole[random.below(self.whole.len())]
            .as_bytes()
            .to_vec();
        for _ in 0..random.below(7) {
            self.change(&mut bytes, random);
            bytes.truncate(LONGEST);
        }
        bytes
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let from = random.below(bytes.len() + 1);
        let to = (from + random.below(24)).min(bytes.len());
        let piece = || self.pieces.iter().map(|piece| piece.as_bytes());
        let at = random.below(self.pieces.len());
        match random.below(7) {
            0 => drop(bytes.drain(from..to)),
            1 => drop(bytes.splice(from..from, piece().nth(at).unwrap().to_vec())),
            2 => drop(bytes.splice(from..to, piece().nth(at).unwrap().to_vec())),
            3 => {
                let again = bytes[from..to].repeat(1 << random.below(9));
                drop(bytes.splice(from..from, again));
            }
            4 => {
                let again = piece().nth(at).unwrap().repeat(1 << random.below(11));
                drop(bytes.splice(from..from, again));
            }
            5 => {
                let other = self.whole[random.below(self.whole.len())].as_bytes();
                let begin = random.below(other.len() + 1);
                bytes.truncate(from);
                bytes.extend_from_slice(&other[begin..]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(from) {
                    *byte = random.below(256) as u8;
                }
            }
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

/// Gives a reader so many inputs of a corpus. It takes no more memory than an input is allowed, or
/// `most`.
fn many(inputs: usize, corpus: &Corpus, most: usize, read: impl Fn(&[u8])) {
    let mut random = Random::new(inputs as u64);
    let texts = corpus.whole.iter().map(|text| text.as_bytes().to_vec());
    let changed = (0..inputs).map(|_| corpus.next(&mut random));
    for input in texts.chain(changed) {
        let shown = Shown(&input);
        let ((), taken) = most_memory(|| read(shown.0));
        let allowed = most.max(OWN + EACH * input.len());
        assert!(
            taken <= allowed,
            "{taken} bytes for {} of the input",
            input.len()
        );
    }
}

#[test]
fn memory_is_counted() {
    let (text, taken) = most_memory(|| vec![0u8; 100_000]);
    assert!((100_000..110_000).contains(&taken), "{taken}");
    let ((), none) = most_memory(|| drop(text));
    assert!(none < 1_000, "{none}");
}

/// The gate's share of the inputs, and all.
const FEW: usize = 4_000;
const ALL: usize = 1_000_000;

macro_rules! promises {
    ($($few:ident $all:ident $target:ident,)*) => { $(
        #[test]
        fn $few() {
            targets::$target(FEW);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $all() {
            targets::$target(ALL);
        }
    )* };
}

promises! {
    prop_sem_g440_any_head_is_answered_or_cut_off deep_sem_g440_a_million_heads heads,
    prop_sem_g440_any_json_is_read_or_refused deep_sem_g440_a_million_texts_of_json texts,
    prop_sem_g440_any_cbor_is_read_or_refused deep_sem_g440_a_million_bodies_of_cbor cbor,
    prop_sem_g440_any_form_is_read_or_refused deep_sem_g440_a_million_forms forms,
    prop_sem_g440_any_target_is_read_or_refused deep_sem_g440_a_million_targets targets,
    prop_sem_g440_any_place_to_resume_is_read_or_refused
        deep_sem_g440_a_million_places_to_resume resumed,
    prop_sem_g440_any_stream_of_events_is_read deep_sem_g440_a_million_streams streams,
    prop_sem_g440_any_token_is_known_or_refused deep_sem_g440_a_million_tokens tokens,
}

#[cfg(feature = "dssp")]
promises! {
    prop_sem_g440_any_envelope_is_read_or_refused deep_sem_g440_a_million_envelopes envelopes,
}
