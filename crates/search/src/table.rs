//! The values of positions that were searched before, for exactly one depth each.

/// What is known of a position: its value, or a bound of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    depth: u32,
    value: i32,
    bound: Bound,
}

/// A table of so many places; a later position takes the place of an earlier one.
#[derive(Debug, Default)]
pub(crate) struct TranspositionTable {
    entries: Vec<Option<Entry>>,
}

impl TranspositionTable {
    /// `None` if there is no room for so many.
    pub(crate) fn new(entries: usize) -> Option<Self> {
        let mut places = Vec::new();
        places.try_reserve_exact(entries).ok()?;
        places.resize(entries, None);
        Some(TranspositionTable { entries: places })
    }

    fn place(&self, key: u64) -> Option<usize> {
        let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper bits are the well-mixed ones.
        let place = (u128::from(mixed) * self.entries.len() as u128) >> 64;
        (!self.entries.is_empty()).then_some(place as usize)
    }

    /// The value, if what is known decides it for this window.
    #[inline]
    pub(crate) fn value(&self, key: u64, depth: u32, alpha: i32, beta: i32) -> Option<i32> {
        let entry = self.entries[self.place(key)?]?;
        let decides = match entry.bound {
            Bound::Exact => true,
            Bound::AtLeast => entry.value >= beta,
            Bound::AtMost => entry.value <= alpha,
        };
        (entry.key == key && entry.depth == depth && decides).then_some(entry.value)
    }

    #[inline]
    pub(crate) fn keep(&mut self, key: u64, depth: u32, value: i32, bound: Bound) {
        if let Some(place) = self.place(key) {
            self.entries[place] = Some(Entry {
                key,
                depth,
                value,
                bound,
            });
        }
    }
}
