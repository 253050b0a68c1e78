//! What comes first: sorts of few types, each compiled once.

/// Puts indices in order: the greatest value first, of equal ones the lower index.
pub(crate) fn greatest_first(indices: &mut [usize], value: &dyn Fn(usize) -> f64) {
    indices.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
}

/// Every cluster to split with every other one to leave out, the most promising pair first, of
/// equal ones that which comes first.
pub(crate) fn swaps(clusters: usize, promise: impl Fn(usize, usize) -> f64) -> Vec<(usize, usize)> {
    let pairs = (0..clusters * clusters)
        .map(|pair| (pair / clusters, pair % clusters))
        .filter(|(split, out)| split != out)
        .map(|(split, out)| (promise(split, out), split, out));
    most_promising_first(pairs.collect())
}

/// What it promises, the cluster to split, and the one to leave out.
type Swap = (f64, usize, usize);

#[inline(never)]
fn most_promising_first(mut pairs: Vec<Swap>) -> Vec<(usize, usize)> {
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    pairs.iter().map(|(_, split, out)| (*split, *out)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_keep_the_order_of_their_indices() {
        let values = [1.0, 3.0, 2.0, 3.0];
        let mut order = [3, 2, 1, 0];
        greatest_first(&mut order, &|at| values[at]);
        assert_eq!(order, [1, 3, 2, 0]);
    }

    #[test]
    fn swaps_are_all_pairs_of_two_by_promise() {
        let promise = |split: usize, out: usize| if (split, out) == (2, 0) { 1.0 } else { 0.0 };
        let all = swaps(3, promise);
        assert_eq!(all, [(2, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 1)]);
    }
}
