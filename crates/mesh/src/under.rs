//! Under which causalities a sample was published, and its handler runs.
//!
//! Inside a node they are the publisher's own. Over a link they go by name: nothing cancels those.

use crate::Sample;
use crate::caller::MOST_CAUSALITIES;
use crate::frame::{MAX_NAMES, decode, encode};
use motet_dispatch::{Causalities, Causality};
use std::sync::Arc;

/// The names of the causalities that are active now, innermost first, up to the first one that has
/// no room. None: there are none. That takes no memory.
pub(crate) fn written_names() -> Option<Arc<[u8]>> {
    let active = Causalities::active();
    if active.is_empty() {
        return None;
    }
    let mut room = Some(MAX_NAMES - 1);
    let has_room = |name: &&str| {
        // Its length takes two bytes at most.
        room = room.and_then(|room| room.checked_sub(2 + name.len()));
        room.is_some()
    };
    let names = active.iter().map(Causality::name).take(MOST_CAUSALITIES);
    let names: Vec<&str> = names.take_while(has_room).collect();
    match names.is_empty() {
        true => None,
        false => encode(&names).ok().map(Arc::from),
    }
}

/// New causalities of these names. Bytes that are too many, or that are no names, are as none.
pub(crate) fn named(names: &[u8]) -> Causalities {
    if names.is_empty() || names.len() > MAX_NAMES {
        return Causalities::none();
    }
    let names = decode::<Vec<&str>>(names).unwrap_or_default();
    // What is active here is the node's business, and not the publisher's.
    let outermost_first = names.into_iter().take(MOST_CAUSALITIES).rev();
    outermost_first.fold(Causalities::none(), |outer, name| {
        outer.run(|| Causality::new(name).run(Causalities::active))
    })
}

/// Does something under these causalities and no others.
#[inline]
pub(crate) fn only_under<R>(causalities: Causalities, work: impl FnOnce() -> R) -> R {
    if causalities.is_empty() && Causalities::active().is_empty() {
        return work();
    }
    causalities.run(work)
}

/// Ends causalities when it is dropped.
struct EndedWith(Causalities);

impl Drop for EndedWith {
    fn drop(&mut self) {
        self.0.iter().for_each(Causality::end);
    }
}

/// Causalities that were made for a sample end when its last clone is dropped. Else who takes
/// samples in a loop would be under more and more of them.
pub(crate) fn end_with<T>(sample: &mut Sample<T>, causalities: &Causalities) {
    if !causalities.is_empty() {
        let handled = sample.handled.take();
        sample.handled = Some(Arc::new((EndedWith(causalities.clone()), handled)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(causalities: &Causalities) -> Vec<&str> {
        causalities.iter().map(Causality::name).collect()
    }

    /// The names that go over a link of what is active under causalities of these, outermost first.
    fn sent(names: &[&str]) -> Causalities {
        let under = names.iter().fold(Causalities::none(), |outer, name| {
            outer.run(|| Causality::new(name).run(Causalities::active))
        });
        named(&under.run(written_names).unwrap_or_else(|| [].into()))
    }

    #[test]
    fn sem_g615_names_go_innermost_first_as_far_as_they_have_room() {
        assert!(written_names().is_none());
        assert_eq!(
            names_of(&sent(&["order 7", "payment"])),
            ["payment", "order 7"]
        );
        assert_eq!(names_of(&sent(&[""])), [""]);
        let long = "n".repeat(MAX_NAMES);
        assert!(sent(&[long.as_str()]).is_empty());
        let three = sent(&["outer", long.as_str(), "inner"]);
        assert_eq!(names_of(&three), ["inner"]);
        assert_eq!(
            sent(&["n"; MOST_CAUSALITIES + 1]).iter().count(),
            MOST_CAUSALITIES
        );
        let most = "n".repeat(MAX_NAMES - 3);
        assert_eq!(names_of(&sent(&["outer", most.as_str()])), [most.as_str()]);
    }

    #[test]
    fn sem_g615_bytes_that_are_no_names_are_as_none() {
        assert!(named(&[]).is_empty());
        assert!(named(&[u8::MAX; 9]).is_empty());
        assert!(named(&[1, 1, u8::MAX]).is_empty());
        assert!(named(&[0; MAX_NAMES + 1]).is_empty());
        let empty = vec![""; MAX_NAMES - 2];
        let many = encode(&empty).unwrap();
        assert_eq!(named(&many).iter().count(), MOST_CAUSALITIES);
    }

    #[test]
    fn only_those_that_are_named_are_active() {
        let (here, there) = (Causality::new("here"), sent(&["there"]));
        let active = || -> Vec<u64> {
            let active = Causalities::active();
            active.iter().map(Causality::id).collect()
        };
        let found: [Vec<u64>; 2] = here.run(|| {
            let none = only_under(Causalities::none(), active);
            [none, only_under(there.clone(), active)]
        });
        let of_there: Vec<u64> = there.iter().map(Causality::id).collect();
        assert_eq!(found, [Vec::new(), of_there]);
    }
}
