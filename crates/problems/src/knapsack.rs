//! The 0/1 knapsack.

use motet_search::{Bounded, Tree};
use serde::{Deserialize, Serialize};

/// Things of which some are packed, and what fits.
#[derive(Debug, Clone)]
pub struct Knapsack {
    capacity: u64,
    /// Profit and weight, the most profit for its weight first.
    things: Vec<(u64, u64)>,
}

/// What was decided about the first things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packed {
    decided: u32,
    profit: u64,
    room: u64,
}

impl Knapsack {
    /// Things by profit and weight.
    #[must_use]
    pub fn new(capacity: u64, things: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut things: Vec<(u64, u64)> = things.into_iter().collect();
        let product = |profit: u64, weight: u64| u128::from(profit) * u128::from(weight);
        things.sort_by(|one, other| {
            // What weighs nothing goes first; by its products it would be equal to others.
            let weighs = (one.1 != 0).cmp(&(other.1 != 0));
            weighs.then_with(|| product(other.0, one.1).cmp(&product(one.0, other.1)))
        });
        Knapsack { capacity, things }
    }

    /// P07 of J. Burkardt's collection, Florida State University: the best profit is 1458.
    #[must_use]
    pub fn p07() -> Self {
        let profits = [
            135, 139, 149, 150, 156, 163, 173, 184, 192, 201, 210, 214, 221, 229, 240,
        ];
        let weights = [
            70, 73, 77, 80, 82, 87, 90, 94, 98, 106, 110, 113, 115, 118, 120,
        ];
        Knapsack::new(750, profits.into_iter().zip(weights))
    }

    /// P08 of the same: the best profit is 13,549,094.
    #[must_use]
    pub fn p08() -> Self {
        let profits = [
            825_594, 1_677_009, 1_676_628, 1_523_970, 943_972, 97_426, 69_666, 1_296_457,
            1_679_693, 1_902_996, 1_844_992, 1_049_289, 1_252_836, 1_319_836, 953_277, 2_067_538,
            675_367, 853_655, 1_826_027, 65_731, 901_489, 577_243, 466_257, 369_261,
        ];
        let weights = [
            382_745, 799_601, 909_247, 729_069, 467_902, 44_328, 34_610, 698_150, 823_460, 903_959,
            853_665, 551_830, 610_856, 670_702, 488_960, 951_111, 323_046, 446_298, 931_161,
            31_385, 496_951, 264_724, 224_916, 169_684,
        ];
        Knapsack::new(6_404_180, profits.into_iter().zip(weights))
    }
}

impl Tree for Knapsack {
    type Node = Packed;

    fn root(&self) -> Packed {
        Packed {
            decided: 0,
            profit: 0,
            room: self.capacity,
        }
    }

    fn children(&self, packed: &Packed, out: &mut Vec<Packed>) {
        let Some(&(profit, weight)) = self.things.get(packed.decided as usize) else {
            return;
        };
        let decided = packed.decided + 1;
        if weight <= packed.room {
            out.push(Packed {
                decided,
                profit: packed.profit + profit,
                room: packed.room - weight,
            });
        }
        out.push(Packed { decided, ..*packed });
    }
}

impl Bounded for Knapsack {
    type Value = u64;

    fn value(&self, packed: &Packed) -> Option<u64> {
        Some(packed.profit)
    }

    /// The next things as long as they fit, and a part of the one that does not.
    fn bound(&self, packed: &Packed) -> u64 {
        let (mut bound, mut room) = (packed.profit, packed.room);
        for (profit, weight) in &self.things[packed.decided as usize..] {
            if *weight > room {
                let part = u128::from(*profit) * u128::from(room) / u128::from(*weight);
                // The part is less than the profit.
                return bound + part as u64;
            }
            (bound, room) = (bound + profit, room - weight);
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weighs_nothing_does_not_disturb_the_order() {
        let knapsack = Knapsack::new(1, [(1, 2), (0, 0), (2, 1)]);
        assert_eq!(knapsack.things, [(0, 0), (2, 1), (1, 2)]);
        assert_eq!(knapsack.bound(&knapsack.root()), 2);
    }

    #[test]
    fn products_of_profit_and_weight_may_be_larger_than_a_word() {
        let large: u64 = 1 << 40;
        let knapsack = Knapsack::new(large, [(large, large + 1), (3 * large, large + 2)]);
        assert_eq!(knapsack.things[0], (3 * large, large + 2));
        let bound = knapsack.bound(&knapsack.root());
        // 3 · 2^80 / (2^40 + 2) is 3 · 2^40 - 6 and a little.
        assert_eq!(bound, 3 * large - 6);
    }
}
