//! The kernel against a slow twin, known values, the same bits for any ranks, bad input.

use super::*;
use crate::{CancelToken, SequenceError};
use kernel::Found;
use motet_comm::World;
use proptest::prelude::*;

/// The best alignment by whole matrices of three states, from which the path is read backwards.
fn twin(method: &Alignment, table: &Table, a: &[u8], b: &[u8]) -> Found {
    let (open, extend) = (i64::from(method.open), i64::from(method.extend));
    let local = method.kind == AlignmentKind::Local;
    let (n, m, low) = (a.len(), b.len(), -1_000_000_i64);
    // States: any, gap in the first, gap in the second.
    let mut best = vec![vec![[low; 3]; m + 1]; n + 1];
    let pair = |i: usize, j: usize| i64::from(table.both(a[i - 1], b[j - 1]) >> 1);
    for i in 0..=n {
        for j in 0..=m {
            let mut here = [low; 3];
            if j > 0 {
                here[1] = (best[i][j - 1][0] - open).max(best[i][j - 1][1] - extend);
            }
            if i > 0 {
                here[2] = (best[i - 1][j][0] - open).max(best[i - 1][j][2] - extend);
            }
            let start = i == 0 && j == 0 || local;
            here[0] = here[1].max(here[2]).max(if start { 0 } else { low });
            if i > 0 && j > 0 {
                here[0] = here[0].max(best[i - 1][j - 1][0] + pair(i, j));
            }
            best[i][j] = here;
        }
    }
    let (mut i, mut j) = (n, m);
    if local {
        (i, j) = (0, 0);
        for row in 0..=n {
            for column in 0..=m {
                if best[row][column][0] > best[i][j][0] {
                    (i, j) = (row, column);
                }
            }
        }
    }
    let score = best[i][j][0];
    let (mut state, mut identities, mut columns) = (0, 0, 0);
    while (i, j) != (0, 0) && !(local && state == 0 && best[i][j][0] == 0) {
        let here = best[i][j][state];
        match state {
            0 if i > 0 && j > 0 && here == best[i - 1][j - 1][0] + pair(i, j) => {
                identities += (table.both(a[i - 1], b[j - 1]) & 1) as u32;
                columns += 1;
                (i, j) = (i - 1, j - 1);
            }
            0 => state = if here == best[i][j][1] { 1 } else { 2 },
            _ => {
                let from = if state == 1 { (i, j - 1) } else { (i - 1, j) };
                (i, j) = from;
                columns += 1;
                if here == best[i][j][0] - open {
                    state = 0;
                }
            }
        }
    }
    Found {
        score,
        identities,
        columns,
    }
}

/// The highest score of all alignments, tried one after the other.
fn all_paths(method: &Alignment, table: &Table, a: &[u8], b: &[u8], last: usize) -> i64 {
    let cost = |state: usize| match state == last {
        true => i64::from(method.extend),
        false => i64::from(method.open),
    };
    if a.is_empty() && b.is_empty() {
        return 0;
    }
    let mut best = i64::MIN;
    if let ([x, a @ ..], [y, b @ ..]) = (a, b) {
        let score = i64::from(table.both(*x, *y) >> 1);
        best = best.max(score + all_paths(method, table, a, b, 0));
    }
    if let [_, b @ ..] = b {
        best = best.max(all_paths(method, table, a, b, 1) - cost(1));
    }
    if let [_, a @ ..] = a {
        best = best.max(all_paths(method, table, a, b, 2) - cost(2));
    }
    best
}

fn methods() -> Vec<(Alignment, Alphabet)> {
    let kinds = [AlignmentKind::Global, AlignmentKind::Local];
    let both = [
        (Alignment::dna(), Alphabet::Dna),
        (Alignment::protein(), Alphabet::Protein),
        (
            Alignment {
                open: 5,
                extend: 5,
                ..Alignment::dna()
            },
            Alphabet::Dna,
        ),
    ];
    let all = both
        .into_iter()
        .flat_map(|(method, alphabet)| kinds.map(|kind| (Alignment { kind, ..method }, alphabet)));
    all.collect()
}

fn sequences(codes: u8, most: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(0..codes, 1..most), 1..33)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn prop_sem_g126_lanes_find_what_the_twin_finds(
        first in prop::collection::vec(0_u8..5, 1..40),
        others in sequences(5, 40),
    ) {
        for (method, alphabet) in methods() {
            let table = Table::new(method.scores, alphabet);
            let seconds: Vec<&[u8]> = others.iter().map(Vec::as_slice).collect();
            let twins: Vec<Found> =
                seconds.iter().map(|second| twin(&method, &table, &first, second)).collect();
            let mut batch = Batch::new(&table, &seconds);
            for instructions in Instructions16::available() {
                let found = batch.align(&method, instructions, &first);
                prop_assert_eq!(&found, &twins, "{:?} {:?}", method, instructions);
            }
            let one = |second: &&[u8]| align_one(&method, &table, &first, second);
            prop_assert_eq!(seconds.iter().map(one).collect::<Vec<_>>(), twins);
        }
    }

    #[test]
    fn prop_sem_g126_no_alignment_scores_higher(
        a in prop::collection::vec(0_u8..5, 1..6),
        b in prop::collection::vec(0_u8..5, 1..6),
    ) {
        let table = Table::new(Alignment::dna().scores, Alphabet::Dna);
        let found = align_one(&Alignment::dna(), &table, &a, &b);
        let best = all_paths(&Alignment::dna(), &table, &a, &b, 0);
        prop_assert_eq!(found.score, best);
    }
}

/// Sequences of several lengths that differ in a few letters.
fn family(count: usize) -> Sequences {
    let mut text = String::new();
    for i in 0..count {
        text.push_str(&format!(">s{i}\n"));
        for at in 0..20 + i * 13 % 31 {
            let letter = match (at * 7 + i * 3) % 11 {
                0 => (at * i + i) % 4,
                _ => at * at % 4,
            };
            text.push(char::from(b"ACGT"[letter]));
        }
        text.push('\n');
    }
    Sequences::from_fasta(text.as_bytes(), Alphabet::Dna).unwrap()
}

fn matrix(ranks: usize, method: &Alignment, sequences: &Sequences) -> Vec<f32> {
    let parts = World::threads(ranks)
        .run(async |comm| {
            method
                .distances(&comm, sequences, &Control::default())
                .await
        })
        .unwrap();
    PairDistances::join(sequences, &parts).unwrap().unwrap()
}

#[test]
fn sem_g127_the_same_matrix_for_any_number_of_ranks() {
    for count in [1, 2, 32, 33, 70] {
        let all = family(count);
        let one = matrix(1, &Alignment::dna(), &all);
        for ranks in [2, 3, 8] {
            assert_eq!(matrix(ranks, &Alignment::dna(), &all), one, "{count}");
        }
        let table = Table::new(Alignment::dna().scores, Alphabet::Dna);
        for i in 0..count {
            for j in 0..count {
                let (a, b) = (all.codes(i), all.codes(j));
                let (a, b) = match (a.len(), a) <= (b.len(), b) {
                    true => (a, b),
                    false => (b, a),
                };
                let slow = twin(&Alignment::dna(), &table, a, b).distance();
                assert_eq!(one[i * count + j], slow, "{i} {j}");
            }
        }
    }
}

#[test]
fn sem_g127_a_distance_depends_on_its_two_sequences_alone() {
    let all = family(40);
    let text: String = (0..40)
        .rev()
        .map(|i| {
            let letters = all
                .codes(i)
                .iter()
                .map(|code| char::from(b"ACGTN"[usize::from(*code)]));
            format!(">s{i}\n{}\n", letters.collect::<String>())
        })
        .collect();
    let back = Sequences::from_fasta(text.as_bytes(), Alphabet::Dna).unwrap();
    let (one, other) = (
        matrix(1, &Alignment::dna(), &all),
        matrix(1, &Alignment::dna(), &back),
    );
    assert!((0..1600).all(|at| one[at] == other[(39 - at / 40) * 40 + 39 - at % 40]));
}

#[test]
fn long_sequences_leave_the_lanes() {
    let method = Alignment::dna();
    let table = Table::new(method.scores, Alphabet::Dna);
    assert!(fits(&method, &table, 1200, 1200));
    assert!(!fits(&method, &table, 6000, 6000));
    let long = ">a\n".to_owned() + &"ACGGT".repeat(900) + "\n>b\n" + &"ACGGA".repeat(900) + "\n";
    let both = Sequences::from_fasta(long.as_bytes(), Alphabet::Dna).unwrap();
    assert_eq!(matrix(1, &method, &both)[1], 0.2);
}

#[test]
fn sem_g126_a_gap_may_cost_more_than_32_bits_hold() {
    let method = Alignment {
        open: 1000,
        extend: 1000,
        ..Alignment::dna()
    };
    let table = Table::new(method.scores, Alphabet::Dna);
    // The lanes are not asked, however large the product of letters and costs is.
    assert!(!fits(&method, &table, 1, 1 << 30));
    let letters = 2_200_000;
    let found = align_one(&method, &table, &[0], &vec![0; letters]);
    let best = Found {
        score: 5 - 1000 * (letters as i64 - 1),
        identities: 1,
        columns: letters as u32,
    };
    assert_eq!(found, best);
}

#[test]
fn sem_g128_bad_sequences_name_their_place() {
    let read = |text: &str, alphabet| {
        let error: SequenceError = Sequences::from_fasta(text.as_bytes(), alphabet).unwrap_err();
        error.to_string()
    };
    assert!(read("", Alphabet::Dna).contains("no sequences"));
    assert!(read("\nACGT\n", Alphabet::Dna).contains("line 2"));
    assert!(read(">a\nAC\n>b\n>c\nAC\n", Alphabet::Dna).contains("record 2 (b)"));
    assert!(read(">a\nAC\n>b\n\n", Alphabet::Dna).contains("record 2 (b)"));
    let wrong = read(">a\nACGT\n>b x\nAC\nG-T\n", Alphabet::Dna);
    assert!(wrong.contains("record 2 (b), letter 4 is '-'"), "{wrong}");
    assert!(read(">a\nMK1\n", Alphabet::Protein).contains("letter 3 is '1'"));
    let good = Sequences::from_fasta(b";c\n>a b\r\nac gu\r\nN\r\n", Alphabet::Dna).unwrap();
    assert_eq!((good.name(0), good.codes(0)), ("a", &[0, 1, 2, 3, 4][..]));
    assert_eq!(Alphabet::guess(b">EEEEEEEEE\nACGTN\n"), Alphabet::Dna);
    assert_eq!(Alphabet::guess(b">AAAAAAAAA\nMKVLA\n"), Alphabet::Protein);
}

#[test]
fn sem_g128_bad_scores_and_a_cancelled_run() {
    let all = family(3);
    let run = |method: Alignment, control: &Control<'_>| {
        let done = World::threads(2).run(async |comm| {
            let error = method.distances(&comm, &all, control).await.unwrap_err();
            Ok::<String, MiningError>(format!("{error:?}"))
        });
        done.unwrap().remove(0)
    };
    let none = Control::default();
    let letters = |same, other| Scores::Letters { same, other };
    let dna = Alignment::dna();
    assert!(
        run(
            Alignment {
                scores: letters(0, -4),
                ..dna
            },
            &none
        )
        .contains("same")
    );
    assert!(
        run(
            Alignment {
                scores: letters(5, 1),
                ..dna
            },
            &none
        )
        .contains("other")
    );
    assert!(run(Alignment { open: 3, ..dna }, &none).contains("open"));
    assert!(run(Alignment { extend: 0, ..dna }, &none).contains("extend"));
    assert!(run(Alignment::protein(), &none).contains("BLOSUM62"));
    let cancel = CancelToken::new();
    cancel.cancel();
    let control = Control {
        cancel: Some(&cancel),
        ..Control::default()
    };
    assert!(run(dna, &control).contains("Cancelled"));
}

#[test]
fn sem_g505_a_cancelled_run_aligns_no_further_batch() {
    let (all, method) = (family(70), Alignment::dna());
    let work = Work::new(&all);
    let table = Table::new(method.scores, Alphabet::Dna);
    let cancel = CancelToken::new();
    let control = Control {
        cancel: Some(&cancel),
        ..Control::default()
    };
    let align = |values: &mut Vec<f32>| {
        let mut batches = work.batches(0..work.items());
        batches.all(|batch| method.align(&table, (&all, &work), &batch, values, &control))
    };
    let mut values = Vec::new();
    assert!(align(&mut values));
    assert_eq!(values.len(), 70 * 69 / 2);
    cancel.cancel();
    let mut none = Vec::new();
    assert!(!align(&mut none));
    assert!(none.is_empty(), "{} distances", none.len());
}

#[test]
fn sem_g505_a_rank_agrees_to_go_on_after_so_many_cells_at_most() {
    let records = |count: usize, letters: usize| {
        let letters = "ACGT".repeat(letters / 4);
        let text: String = (0..count).map(|i| format!(">s{i}\n{letters}\n")).collect();
        Work::new(&Sequences::from_fasta(text.as_bytes(), Alphabet::Dna).unwrap())
    };
    assert_eq!(records(50, 40).rounds(2), ROUNDS);
    let long = records(512, 2000);
    let each = long.cells(long.items()) / 2 / long.rounds(2);
    assert!(
        long.rounds(2) > 100 && each < 2 * ROUND_CELLS,
        "{each} cells"
    );
}

#[test]
fn sem_g176_distances_to_a_sample_are_those_of_all_pairs() {
    // Of many lengths, some twice, one too long for the lanes.
    let letters = |row: usize| {
        let length = if row == 70 { 5_000 } else { 20 + row * 7 % 60 };
        let letter = move |at: usize| b"ACGT"[(at * at + row % 23 * (at + 1)) % 4];
        String::from_utf8((0..length).map(letter).collect()).unwrap()
    };
    let text: String = (0..90)
        .map(|row| format!(">{row}\n{}\n", letters(row % 80)))
        .collect();
    let sequences = Sequences::from_fasta(text.as_bytes(), Alphabet::Dna).unwrap();
    for method in [
        Alignment::dna(),
        Alignment {
            kind: AlignmentKind::Local,
            ..Alignment::dna()
        },
    ] {
        let all = async |comm| {
            method
                .distances(&comm, &sequences, &Control::default())
                .await
        };
        let parts = World::threads(2).run(all).unwrap();
        let matrix = PairDistances::join(&sequences, &parts).unwrap().unwrap();
        let rows: Vec<usize> = (0..90).rev().collect();
        let columns: Vec<usize> = (0..90).filter(|at| at % 3 == 1).collect();
        let mut to = vec![-1.0; rows.len() * columns.len()];
        method
            .between(&sequences, &rows, &columns, &mut to)
            .unwrap();
        for (row, to) in rows.iter().zip(to.chunks(columns.len())) {
            for (column, value) in columns.iter().zip(to) {
                assert_eq!(
                    *value,
                    f64::from(matrix[row * 90 + column]),
                    "{row}, {column}"
                );
            }
        }
    }
    let (some, wrong) = (
        sequences.some(&[5, 70]),
        Alignment {
            open: 0,
            ..Alignment::dna()
        },
    );
    assert_eq!((some.name(1), some.letters(1)), ("70", 5_000));
    assert!(wrong.between(&sequences, &[0], &[1], &mut [0.0]).is_err());
}
