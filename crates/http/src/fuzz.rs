//! What a stranger may send, with a few changes, or anything. What comes is a refusal or an answer,
//! never a panic, and no memory that a small message makes large.

mod corpus;
mod targets;

use motet_testkit::{Counting, most_memory};

#[global_allocator]
static MEMORY: Counting = Counting;

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
