//! In which order clusters are shown, and the numbers from 1 that they get by it.

use std::cmp::Ordering;

/// The indices of `sizes`, the largest first, of equal ones the lower index.
pub(crate) fn largest_first(sizes: &[usize]) -> Vec<usize> {
    sorted(sizes.len(), &|a, b| sizes[b].cmp(&sizes[a]))
}

/// The indices of `values`, the greatest first, of equal ones the lower index.
pub(crate) fn greatest_first(values: &[f64]) -> Vec<usize> {
    sorted(values.len(), &|a, b| values[b].total_cmp(&values[a]))
}

/// The number from 1 that each index of an order is called by.
pub(crate) fn numbers(order: &[usize]) -> Vec<usize> {
    let mut numbers = vec![0; order.len()];
    for (number, &index) in (1..).zip(order) {
        numbers[index] = number;
    }
    numbers
}

fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_keep_their_order() {
        let order = largest_first(&[2, 5, 2, 7]);
        assert_eq!(order, [3, 1, 0, 2]);
        assert_eq!(numbers(&order), [3, 2, 4, 1]);
        assert_eq!(greatest_first(&[0.5, 1.5, 0.5]), [1, 0, 2]);
    }
}
