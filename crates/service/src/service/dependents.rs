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
    let mut found = BTreeSet::from([path.to_owned()]);
    loop {
        let next = partners
            .iter()
            .filter(|(own, of)| !found.contains(*own) && !of.is_disjoint(&found));
        let next: Vec<String> = next.map(|(own, _)| own.clone()).collect();
        if next.is_empty() {
            break;
        }
        found.extend(next);
    }
    found.remove(path);
    let mut order = Vec::new();
    while !found.is_empty() {
        let free = found.iter().find(|own| partners[*own].is_disjoint(&found));
        // Those that need each other come in the order of their paths.
        let Some(next) = free.or_else(|| found.first()).cloned() else {
            break;
        };
        found.remove(&next);
        order.push(next);
    }
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
}
