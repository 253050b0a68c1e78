//! Who has whom as a partner.

use super::Any;
use std::collections::{BTreeMap, BTreeSet};

/// The paths of those of the services that have the one at `path` as a partner, or one that has:
/// each behind those of its partners that are among them.
pub(super) fn dependents(services: &[Any], path: &str) -> Vec<String> {
    let partners = services.iter().map(|service| {
        let common = service.common();
        let partners: BTreeSet<String> = common.partners.lock().values().cloned().collect();
        (common.path.to_string(), partners)
    });
    in_order(&partners.collect(), path)
}

/// As [`dependents`], of the partners of all services.
fn in_order(partners: &BTreeMap<String, BTreeSet<String>>, path: &str) -> Vec<String> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (own, of) in partners {
        for partner in of {
            users.entry(partner).or_default().push(own);
        }
    }
    // Depth first: whoever has all of its users in the order comes into it behind them, so that it
    // is before them when it is turned round.
    let users_of = |path: &str| users.get(path).map(Vec::as_slice).unwrap_or_default();
    let (mut order, mut seen) = (Vec::new(), BTreeSet::from([path]));
    let mut open = vec![(path, users_of(path))];
    while let Some((own, left)) = open.last_mut() {
        match left.split_last() {
            Some((&next, rest)) => {
                *left = rest;
                if seen.insert(next) {
                    open.push((next, users_of(next)));
                }
            }
            None => {
                order.push((*own).to_owned());
                open.pop();
            }
        }
    }
    // The service itself has come in last.
    order.pop();
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_behind_its_partners() {
        let all = [
            ("/a", vec!["/c", "/root"]),
            ("/b", vec!["/root"]),
            ("/c", vec!["/b"]),
            ("/other", vec!["/elsewhere"]),
            ("/root", vec!["/elsewhere"]),
        ];
        let set =
            |of: Vec<&str>| -> BTreeSet<String> { of.into_iter().map(str::to_owned).collect() };
        let all: BTreeMap<String, BTreeSet<String>> = all
            .into_iter()
            .map(|(own, of)| (own.to_owned(), set(of)))
            .collect();
        assert_eq!(in_order(&all, "/root"), ["/b", "/c", "/a"]);
        assert!(in_order(&all, "/a").is_empty());
    }

    #[test]
    fn those_that_have_each_other_come_once() {
        let each = |of: &str| BTreeSet::from([of.to_owned()]);
        let all = BTreeMap::from([("/a".to_owned(), each("/b")), ("/b".to_owned(), each("/a"))]);
        assert_eq!(in_order(&all, "/a"), ["/b"]);
    }

    #[test]
    fn a_long_chain_is_in_order() {
        let link = |n: usize| {
            (
                format!("/{:05}", n + 1),
                BTreeSet::from([format!("/{n:05}")]),
            )
        };
        let all: BTreeMap<String, BTreeSet<String>> = (0..20_000).map(link).collect();
        let order = in_order(&all, "/00000");
        assert_eq!(order.len(), 20_000);
        assert!(order.is_sorted());
    }
}
