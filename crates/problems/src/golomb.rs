//! Golomb rulers: marks whose distances all differ.

use motet_search::{Bounded, Tree};
use serde::{Deserialize, Serialize};

/// The shortest ruler with this many marks is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Golomb {
    /// Marks, from 2 to 12.
    pub marks: u32,
}

/// Some marks, of which the first is at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruler {
    /// Bit d: a mark d before the last.
    marks: u128,
    /// Bit d: two marks are d apart.
    distances: u128,
    count: u32,
    length: u32,
}

/// No ruler is longer.
const LONGEST: u32 = 127;

impl Tree for Golomb {
    type Node = Ruler;

    fn root(&self) -> Ruler {
        Ruler {
            marks: 1,
            distances: 0,
            count: 1,
            length: 0,
        }
    }

    fn children(&self, ruler: &Ruler, out: &mut Vec<Ruler>) {
        if ruler.count == self.marks {
            return;
        }
        let steps = 1..=LONGEST - ruler.length;
        out.extend(steps.filter_map(|step| {
            let marks = ruler.marks << step;
            let fits = marks & ruler.distances == 0;
            fits.then(|| Ruler {
                marks: marks | 1,
                distances: ruler.distances | marks,
                count: ruler.count + 1,
                length: ruler.length + step,
            })
        }));
    }
}

impl Bounded for Golomb {
    type Value = u32;

    fn value(&self, ruler: &Ruler) -> Option<u32> {
        (ruler.count == self.marks).then_some(ruler.length)
    }

    /// The distances that are still to come are the least that are not there yet.
    fn bound(&self, ruler: &Ruler) -> u32 {
        let free = (1..).filter(|distance| ruler.distances & 1 << distance == 0);
        ruler.length + free.take((self.marks - ruler.count) as usize).sum::<u32>()
    }
}
