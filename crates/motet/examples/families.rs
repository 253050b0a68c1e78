//! Sequences whose families are found from nothing but the distances of their pairs.
//!
//! All pairs are aligned, then clustered by annealing; a distance plays the part of a square.

use motet::World;
use motet::mining::{
    Alignment, Alphabet, Clusters, Control, Dissimilarities, PairDistances, Pairwise,
    PairwiseClustering, Sequences,
};

/// Copies of three ancestors, each with some letters changed.
fn fasta() -> String {
    let ancestor = |family: u64| {
        let mut state = 88_172_645_463_325_252_u64 + family * 7_919;
        let letter = move |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b"ACGT"[(state >> 33) as usize % 4]
        };
        (0..120).map(letter).collect::<Vec<u8>>()
    };
    let mut text = String::new();
    for copy in 0..24 {
        let mut letters = ancestor(copy % 3);
        for change in 0..8 {
            let at = (copy * 31 + change * 17) as usize % letters.len();
            letters[at] = b"TGCA"[(copy + change) as usize % 4];
        }
        let letters = String::from_utf8(letters).expect("letters of DNA");
        text.push_str(&format!(">copy{copy}\n{letters}\n"));
    }
    text
}

fn main() {
    let sequences = Sequences::from_fasta(fasta().as_bytes(), Alphabet::Dna).expect("FASTA");
    let (align, world) = (Alignment::dna(), World::threads(3));
    let control = Control::default();
    let parts = world
        .run(async |comm| align.distances(&comm, &sequences, &control).await)
        .expect("all pairs can be aligned");
    let matrix = PairDistances::join(&sequences, &parts).expect("there is room for all pairs");
    let matrix = matrix.expect("the parts of all ranks");
    let pairs = Dissimilarities::from_single(matrix, sequences.len()).expect("distances");
    let method = Pairwise {
        clusters: Clusters::Exactly(3),
        ..Pairwise::default()
    };
    let parts = world
        .run(async |comm| method.fit(&comm, &pairs, None, &control).await)
        .expect("the pairs can be clustered");
    let found = PairwiseClustering::join(parts).expect("the ranks held neighbouring rows");
    for split in &found.splits {
        println!(
            "cluster {} splits at T = {:.4}",
            split.cluster, split.critical
        );
    }
    for (size, medoid) in found.sizes.iter().zip(&found.medoids) {
        println!("{size} sequences around {}", sequences.name(*medoid));
    }
    let family: Vec<u32> = (0..24).map(|copy| copy % 3).collect();
    assert_eq!(found.labels, family);
}
