//! The values that one member keeps. Free of I/O.

use crate::PeerName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Which of two values is newer: the larger version, on every member.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// One more than what the writer saw.
    pub counter: u64,
    /// The member that wrote it. It decides between writers that did not see each other.
    pub writer: String,
}

impl Version {
    /// Newer than all of these, unless one has the largest counter: a member may make that up.
    #[expect(
        single_use_lifetimes,
        reason = "an iterator's items cannot leave theirs out"
    )]
    pub(super) fn after<'a>(known: impl Iterator<Item = &'a Version>, writer: &str) -> Version {
        let newest = known.map(|version| version.counter).max().unwrap_or(0);
        Version {
            counter: newest.saturating_add(1),
            writer: writer.to_owned(),
        }
    }
}

/// A value, or that there is none any more, and its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) version: Version,
    pub(super) value: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Kept {
    entry: Entry,
    /// Members that are known to have this version or a newer one.
    told: BTreeSet<PeerName>,
    /// Members that had no room for it. They are told again when something has changed.
    full: BTreeSet<PeerName>,
    /// How often each member has dropped this version since members came or went.
    drops: BTreeMap<PeerName, u32>,
    /// When the value was removed.
    removed: Option<Instant>,
}

/// Entries by key, up to a number of bytes.
#[derive(Debug)]
pub(super) struct Store {
    kept: BTreeMap<String, Kept>,
    /// Keys that some holder may lack, or that may be dropped: a pass looks at these.
    unsettled: BTreeSet<String>,
    /// How often each member may have lost or dropped what it had.
    losses: BTreeMap<PeerName, u64>,
    /// Members that are being told what a pass has found for them.
    busy: BTreeSet<PeerName>,
    bytes: usize,
    most: usize,
}

/// What a pass over a store finds.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// What members lack.
    pub(super) missing: BTreeMap<PeerName, Vec<(String, Entry)>>,
    /// Keys that were dropped here, for each member that holds them.
    pub(super) dropped: BTreeMap<PeerName, Vec<String>>,
}

/// The entry does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// What a key costs beside its text and its value.
const OVERHEAD: usize = 64;

impl Store {
    pub(super) fn new(most: usize) -> Self {
        Store {
            kept: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            losses: BTreeMap::new(),
            busy: BTreeSet::new(),
            bytes: 0,
            most,
        }
    }

    pub(super) fn len(&self) -> usize {
        let values = self.kept.values().filter(|kept| kept.removed.is_none());
        values.count()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.kept.get(key).map(|kept| &kept.entry)
    }

    /// Where the entry does not fit, forgets what was removed before this moment.
    pub(super) fn make_room(&mut self, key: &str, entry: &Entry, before: Option<Instant>) {
        if let Some(before) = before
            && self.bytes_with(key, entry) > self.most
        {
            self.forget_removed(before);
        }
    }

    /// How many bytes there are with this entry in place of that of its key.
    fn bytes_with(&self, key: &str, entry: &Entry) -> usize {
        let freed = self.kept.get(key).map_or(0, |old| size(key, &old.entry));
        self.bytes - freed + size(key, entry)
    }

    /// Keeps the entry if it is newer than what is there; the version that is there then. What
    /// takes less room than before is kept also in a full store.
    pub(super) fn put(&mut self, key: &str, entry: Entry, now: Instant) -> Result<Version, Full> {
        let old = self.kept.get(key);
        if let Some(old) = old
            && old.entry.version >= entry.version
        {
            return Ok(old.entry.version.clone());
        }
        let bytes = self.bytes_with(key, &entry);
        if bytes > self.most && bytes > self.bytes {
            return Err(Full);
        }
        self.bytes = bytes;
        let version = entry.version.clone();
        let removed = entry.value.is_none().then_some(now);
        let kept = Kept {
            entry,
            told: BTreeSet::new(),
            full: BTreeSet::new(),
            drops: BTreeMap::new(),
            removed,
        };
        self.unsettled.insert(key.to_owned());
        self.kept.insert(key.to_owned(), kept);
        Ok(version)
    }

    /// How often the member may have lost or dropped something: for [`has`](Store::has).
    pub(super) fn losses(&self, member: &PeerName) -> u64 {
        self.losses.get(member).copied().unwrap_or(0)
    }

    /// A member had this version, or a newer one, when it had lost something so often.
    pub(super) fn has(&mut self, key: &str, version: &Version, member: &PeerName, losses: u64) {
        if self.losses(member) != losses {
            return;
        }
        let kept = self.kept.get_mut(key);
        if let Some(kept) = kept.filter(|kept| kept.entry.version <= *version) {
            kept.told.insert(member.clone());
        }
    }

    /// A member has no room for this version.
    pub(super) fn has_no_room(&mut self, key: &str, version: &Version, member: &PeerName) {
        let kept = self.kept.get_mut(key);
        if let Some(kept) = kept.filter(|kept| kept.entry.version == *version) {
            kept.full.insert(member.clone());
        }
    }

    /// Members have come or gone: any key may have other holders, and there may be room again.
    pub(super) fn unsettle(&mut self) {
        self.unsettled = self.kept.keys().cloned().collect();
        for kept in self.kept.values_mut() {
            kept.full.clear();
            kept.drops.clear();
        }
    }

    /// A member may have lost all that it had.
    pub(super) fn lost_all(&mut self, member: &PeerName) {
        *self.losses.entry(member.clone()).or_default() += 1;
        for kept in self.kept.values_mut() {
            kept.told.remove(member);
        }
        self.unsettle();
    }

    /// A member does not have these keys any more.
    pub(super) fn dropped(&mut self, member: &PeerName, keys: Vec<String>) {
        *self.losses.entry(member.clone()).or_default() += 1;
        for key in keys {
            if let Some(kept) = self.kept.get_mut(&key) {
                kept.told.remove(member);
                kept.full.remove(member);
                let drops = kept.drops.entry(member.clone()).or_default();
                *drops = drops.saturating_add(1);
                self.unsettled.insert(key);
            }
        }
    }

    /// How often the member has dropped what it is to be told now: the most of all entries.
    pub(super) fn drops(&self, member: &PeerName, entries: &[(String, Entry)]) -> u32 {
        let kept = entries.iter().filter_map(|(key, _)| self.kept.get(key));
        let drops = kept.filter_map(|kept| kept.drops.get(member));
        drops.copied().max().unwrap_or(0)
    }

    /// The member has been told, or cannot be: the next pass looks at it again.
    pub(super) fn is_told(&mut self, member: &PeerName) {
        self.busy.remove(member);
    }

    /// What members lack of the keys that they hold by `holders`, for each of them up to `limit`
    /// bytes, or one entry. Entries that this member does not hold any more are dropped once all
    /// holders have them, which are to be told. Members that an earlier pass has found something
    /// for come later: when they [have been told](Store::is_told).
    pub(super) fn pass(
        &mut self,
        me: &PeerName,
        holders: impl Fn(&str) -> Vec<PeerName>,
        limit: usize,
    ) -> Pass {
        let mut pass = Pass::default();
        let mut bytes: BTreeMap<PeerName, usize> = BTreeMap::new();
        for key in std::mem::take(&mut self.unsettled) {
            let Some(kept) = self.kept.get(&key) else {
                continue;
            };
            let (holders, size) = (holders(&key), size(&key, &kept.entry));
            let others = || holders.iter().filter(|holder| *holder != me);
            let mut is_settled = true;
            let is_busy = |holder: &PeerName| self.busy.contains(holder);
            for holder in others().filter(|holder| !kept.knows(holder)) {
                is_settled = false;
                if is_busy(holder) {
                    continue;
                }
                let so_far = bytes.entry(holder.clone()).or_default();
                if *so_far == 0 || *so_far + size <= limit {
                    let entries = pass.missing.entry(holder.clone()).or_default();
                    entries.push((key.clone(), kept.entry.clone()));
                }
                *so_far += size;
            }
            let all_have = others().all(|holder| kept.told.contains(holder));
            let may_drop = !holders.contains(me) && all_have;
            let waits = may_drop && others().any(is_busy);
            if may_drop && !waits {
                for holder in &holders {
                    let keys = pass.dropped.entry(holder.clone()).or_default();
                    keys.push(key.clone());
                }
                self.forget(&key);
            } else if waits || !is_settled {
                self.unsettled.insert(key);
            }
        }
        let found = pass.missing.keys().chain(pass.dropped.keys());
        self.busy.extend(found.cloned());
        pass
    }

    /// Forgets what was removed before this moment. Other members forget it by themselves.
    pub(super) fn forget_removed(&mut self, before: Instant) {
        let is_old = |kept: &Kept| kept.removed.is_some_and(|removed| removed < before);
        let old: Vec<String> = {
            let old = self.kept.iter().filter(|(_, kept)| is_old(kept));
            old.map(|(key, _)| key.clone()).collect()
        };
        old.iter().for_each(|key| self.forget(key));
    }

    fn forget(&mut self, key: &str) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= size(key, &kept.entry);
        }
    }
}

impl Kept {
    /// Whether the member need not be told now: it has the entry, or no room for it.
    fn knows(&self, member: &PeerName) -> bool {
        self.told.contains(member) || self.full.contains(member)
    }
}

fn size(key: &str, entry: &Entry) -> usize {
    OVERHEAD + key.len() + entry.value.as_ref().map_or(0, Vec::len)
}

/// The members that hold a key, the first first: those with the largest hash of key and member
/// (rendezvous hashing, Thaler and Ravishankar 1998). When a member comes or goes only the keys
/// that it holds move.
pub(super) fn ranked(key: &str, members: &[PeerName], count: usize) -> Vec<PeerName> {
    let room = count.min(members.len()) + 1;
    let mut best: Vec<(u64, &PeerName)> = Vec::with_capacity(room);
    for member in members {
        let ranked = (hash(key, member.as_str()), member);
        let at = best.partition_point(|other| *other > ranked);
        if at < count {
            best.insert(at, ranked);
            best.truncate(count);
        }
    }
    best.into_iter().map(|(_, member)| member.clone()).collect()
}

/// FNV-1a of both texts, mixed. The same on every machine.
fn hash(key: &str, member: &str) -> u64 {
    let bytes = key.bytes().chain([0xff]).chain(member.bytes());
    let h = bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn entry(counter: u64, writer: &str, value: &[u8]) -> Entry {
        let writer = writer.to_owned();
        Entry {
            version: Version { counter, writer },
            value: Some(value.to_vec()),
        }
    }

    #[test]
    fn the_newer_version_stays_whatever_the_order() {
        let now = Instant::now();
        let entries = [
            entry(1, "b", b"x"),
            entry(2, "a", b"y"),
            entry(2, "c", b"z"),
        ];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let mut store = Store::new(1000);
            for at in order {
                store.put("k", entries[at].clone(), now).unwrap();
            }
            assert_eq!(store.get("k"), Some(&entries[2]));
            assert_eq!(store.bytes, OVERHEAD + 2);
        }
    }

    #[test]
    fn sem_g217_a_version_that_a_member_makes_up_stops_no_put() {
        let known = [entry(3, "a", b"x"), entry(7, "b", b"y")];
        let versions = || known.iter().map(|entry| &entry.version);
        assert!(Version::after(versions(), "a") > known[1].version);
        let made_up = entry(u64::MAX, "z", b"z").version;
        let after = Version::after(versions().chain([&made_up]), "a");
        assert_eq!(after.counter, u64::MAX);
        assert_eq!(Version::after(std::iter::empty(), "a").counter, 1);
    }

    #[test]
    fn a_full_store_refuses_and_keeps_what_it_has() {
        let mut store = Store::new(2 * OVERHEAD);
        let now = Instant::now();
        store.put("a", entry(1, "w", b"1"), now).unwrap();
        assert_eq!(store.put("b", entry(1, "w", &[0; 100]), now), Err(Full));
        assert_eq!((store.len(), store.get("b")), (1, None));
        // Removals take room too, but for a key that is there less than its value.
        store.put("a", entry(2, "w", &[0; 60]), now).unwrap();
        let removed = |counter| Entry {
            value: None,
            ..entry(counter, "w", b"")
        };
        assert!((0..10).any(|n| store.put(&format!("gone {n}"), removed(1), now) == Err(Full)));
        store.put("a", removed(3), now).unwrap();
    }

    #[test]
    fn a_removal_is_forgotten_after_its_time_and_told_to_nobody() {
        let (mut store, now) = (Store::new(1000), Instant::now());
        let removed = Entry {
            value: None,
            ..entry(1, "w", b"")
        };
        store.put("a", removed, now).unwrap();
        store.put("b", entry(1, "w", b"1"), now).unwrap();
        store.forget_removed(now);
        assert!(store.get("a").is_some());
        store.forget_removed(now + Duration::from_secs(1));
        assert_eq!((store.get("a"), store.len()), (None, 1));
        let names = ["m", "n"].map(PeerName::new).to_vec();
        let pass = store.pass(&names[0], |_| names.clone(), 1000);
        let missing: Vec<&str> = pass.missing[&names[1]]
            .iter()
            .map(|(key, _)| &key[..])
            .collect();
        assert_eq!((missing, pass.dropped.len()), (vec!["b"], 0));
    }

    #[test]
    fn more_copies_than_members_are_all_members() {
        let names: Vec<PeerName> = (0..3).map(|n| PeerName::new(format!("m{n}"))).collect();
        for count in [3, 4, usize::MAX] {
            let mut all = ranked("key", &names, count);
            all.sort();
            assert_eq!(all, names, "{count}");
        }
        assert!(ranked("key", &[], usize::MAX).is_empty());
    }

    #[test]
    fn a_member_more_moves_only_the_keys_that_it_holds() {
        let names: Vec<PeerName> = (0..9).map(|n| PeerName::new(format!("m{n}"))).collect();
        let mut moved = 0;
        for key in (0..1000).map(|n| format!("key {n}")) {
            let before = ranked(&key, &names[..8], 2);
            let after = ranked(&key, &names, 2);
            if before != after {
                assert!(after.contains(&names[8]), "{key}");
                moved += 1;
            }
        }
        // Two of nine of all keys, so far as the hash is even.
        assert!((150..300).contains(&moved), "{moved}");
    }
}
