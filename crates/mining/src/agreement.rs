//! How far two labellings of the same rows agree.

/// The adjusted Rand index of two labellings of the same rows. It is 1 when they make the same
/// clusters (under whatever names). It is about 0 when they have nothing to do with each other,
/// below 0 when they agree less than by chance.
///
/// It counts the pairs of rows that are together in both and corrects for chance. Nothing can be
/// corrected where there are fewer than two rows, or all rows are together in both, or all apart in
/// both. There the labellings are the same, and the index is 1.
///
/// Source: L. Hubert and P. Arabie, Comparing partitions, Journal of Classification 2 (1985).
///
/// # Panics
///
/// If the labellings are not of the same length.
///
/// # Examples
///
/// ```
/// use motet_mining::adjusted_rand;
///
/// assert_eq!(adjusted_rand(&[0, 0, 1, 1], &["b", "b", "a", "a"]), 1.0);
/// assert!(adjusted_rand(&[0, 0, 1, 1], &[0, 1, 0, 1]) < 0.0);
/// ```
pub fn adjusted_rand<A: Ord, B: Ord>(one: &[A], other: &[B]) -> f64 {
    assert_eq!(
        one.len(),
        other.len(),
        "both labellings must be of the same rows"
    );
    let mut order: Vec<usize> = (0..one.len()).collect();
    let same_one = |i: &usize, j: &usize| one[*i] == one[*j];
    let same_other = |i: &usize, j: &usize| other[*i] == other[*j];
    order.sort_unstable_by(|&i, &j| (&one[i], &other[i]).cmp(&(&one[j], &other[j])));
    let in_one = pairs(order.chunk_by(same_one).map(<[_]>::len));
    let in_both = pairs(
        order
            .chunk_by(|i, j| same_one(i, j) && same_other(i, j))
            .map(<[_]>::len),
    );
    order.sort_unstable_by(|&i, &j| other[i].cmp(&other[j]));
    let in_other = pairs(order.chunk_by(same_other).map(<[_]>::len));
    let all = pairs(std::iter::once(order.len()));
    if in_one == in_other && (in_one == 0 || in_one == all) {
        return 1.0;
    }
    let (in_one, in_other) = (in_one as f64, in_other as f64);
    let by_chance = in_one * in_other / all as f64;
    (in_both as f64 - by_chance) / ((in_one + in_other) / 2.0 - by_chance)
}

/// The pairs of rows that are in the same group, for groups of these sizes.
fn pairs(sizes: impl Iterator<Item = usize>) -> u64 {
    let sizes = sizes.map(|size| size as u64);
    sizes.map(|n| n * n.saturating_sub(1) / 2).sum()
}

#[cfg(test)]
mod tests {
    use super::adjusted_rand;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // Hubert and Arabie's formula by hand: 2 pairs in both, 4 and 6 of 15, 24/15 by chance.
        let found = adjusted_rand(&[0, 0, 0, 1, 1, 2], &[5, 5, 9, 9, 9, 5]);
        let expected = (2.0 - 4.0 * 6.0 / 15.0) / (5.0 - 4.0 * 6.0 / 15.0);
        assert!((found - expected).abs() < 1e-15, "{found}");
    }

    #[test]
    fn trivial_labellings() {
        assert_eq!(adjusted_rand::<u32, u32>(&[], &[]), 1.0);
        assert_eq!(adjusted_rand(&[3], &[4]), 1.0);
        assert_eq!(adjusted_rand(&[3, 3, 3], &[4, 4, 4]), 1.0);
        assert_eq!(adjusted_rand(&[1, 2, 3], &[4, 6, 5]), 1.0);
        assert_eq!(adjusted_rand(&[1, 1, 1], &[4, 6, 5]), 0.0);
    }

    #[test]
    #[should_panic(expected = "the same rows")]
    fn lengths_must_agree() {
        adjusted_rand(&[1, 2], &[1]);
    }

    /// The pairs counted one by one.
    fn plain(a: &[u8], b: &[u8]) -> f64 {
        let (mut both, mut in_a, mut in_b, mut all) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..a.len() {
            for j in 0..i {
                let (x, y) = (a[i] == a[j], b[i] == b[j]);
                both += f64::from(u8::from(x && y));
                in_a += f64::from(u8::from(x));
                in_b += f64::from(u8::from(y));
                all += 1.0;
            }
        }
        let chance = in_a * in_b / all;
        (both - chance) / ((in_a + in_b) / 2.0 - chance)
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_plain_twin(
            rows in prop::collection::vec((0_u8..4, 0_u8..4), 2..60),
        ) {
            let (mut a, mut b): (Vec<u8>, Vec<u8>) = rows.into_iter().unzip();
            // Two labels on each side at least, or nothing can be corrected.
            (a[0], a[1], b[0], b[1]) = (0, 1, 0, 1);
            a.push(0);
            b.push(0);
            let found = adjusted_rand(&a, &b);
            prop_assert!((found - plain(&a, &b)).abs() < 1e-12);
            prop_assert!((found - adjusted_rand(&b, &a)).abs() < 1e-12);
        }
    }
}
