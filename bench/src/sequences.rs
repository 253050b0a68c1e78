//! Sequences to cluster, where no data are named.

use crate::table::open;
use motet_mining::{Alphabet, Dissimilarities, Sequences};
use motet_sim::mix;
use std::path::Path;

/// Reads a FASTA file of DNA.
pub(crate) fn read(path: &Path) -> Result<Sequences, String> {
    let wrong = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let mut text = Vec::new();
    let read = open(path).and_then(|mut file| file.read_to_end(&mut text));
    read.map_err(|error| wrong(&error))?;
    Sequences::from_fasta(&text, Alphabet::Dna).map_err(|error| wrong(&error))
}

/// Letters of a sequence, as many as an Alu repeat has.
const LETTERS: usize = 300;
/// Families of sequences.
const FAMILIES: usize = 10;

/// The shares of letters in which so many sequences differ. They are families of one ancestor: each
/// letter of a family is changed with probability 0.1 and each of a sequence with 0.08. They are
/// the same on every machine. None has gaps, so they lie below each other as they are.
pub(crate) fn distances(rows: usize) -> Dissimilarities {
    let sequences = sequences(rows);
    let row = |row: usize| &sequences[row * LETTERS..][..LETTERS];
    let mut codes = vec![0_u16; rows * rows];
    for i in 0..rows {
        for j in 0..i {
            let letters = row(i).iter().zip(row(j));
            let differ: u16 = letters.map(|(a, b)| u16::from(a != b)).sum();
            (codes[i * rows + j], codes[j * rows + i]) = (differ, differ);
        }
    }
    Dissimilarities::from_codes(codes, 1.0 / LETTERS as f64, rows)
        .expect("a symmetric matrix of whole numbers")
}

fn sequences(rows: usize) -> Vec<u8> {
    let mut state = 0_u64;
    // SplitMix64: a Weyl sequence through a mixer.
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(state)
    };
    let mut changed = move |letter: u8, per_thousand: u64| {
        let random = next();
        match random % 1000 < per_thousand {
            true => (random >> 60) as u8 % 4,
            false => letter,
        }
    };
    let ancestor: Vec<u8> = (0..LETTERS).map(|_| changed(0, 1000)).collect();
    let family = |_| ancestor.iter().map(|l| changed(*l, 100)).collect();
    let families: Vec<Vec<u8>> = (0..FAMILIES).map(family).collect();
    let mut all = Vec::with_capacity(rows * LETTERS);
    for row in 0..rows {
        let family = families[row % FAMILIES].iter();
        all.extend(family.map(|letter| changed(*letter, 80)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_always_the_same_and_families_are_near() {
        let (few, more) = (distances(20), distances(40));
        assert_eq!(few.get(3, 17), more.get(3, 17));
        assert_eq!(few.get(5, 5), 0.0);
        let (near, far) = (more.get(0, 10), more.get(0, 15));
        assert!(near > 0.0 && near < far && far < 0.5, "{near} {far}");
    }
}
