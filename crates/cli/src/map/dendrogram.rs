//! The splits of an annealing as a tree.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::axis::{Axis, TickScale};
use super::svg::{Anchor, Page, Type};
use super::{DARK, GREY, LEFT, TOP};

const HEIGHT: f64 = 420.0;
const BELOW: f64 = 84.0;

/// The splits in order.
#[derive(Debug)]
pub(crate) struct Dendrogram {
    pub(crate) title: String,
    /// The text below the title.
    pub(crate) subtitle: String,
    /// Of each split the cluster that becomes two, and its critical temperature. The first
    /// cluster is 0; each split makes the next number.
    pub(crate) splits: Vec<(usize, f64)>,
    /// Of each cluster the text below it.
    pub(crate) leaves: Vec<String>,
}

impl Dendrogram {
    /// The heights of the splits, with room below for the leaves.
    fn axis(&self) -> Axis {
        let heights = self.splits.iter().map(|(_, critical)| critical.log10());
        let heights: Vec<f64> = heights.collect();
        let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
        let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // One cluster has no split.
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let room = (high - low).max(0.2);
        Axis::around(
            "log₁₀ of the critical temperature",
            TickScale::Numbers,
            low - 0.15 * room,
            high,
        )
    }

    /// Draws the tree as an SVG document.
    pub(crate) fn draw(&self) -> String {
        let y = self.axis();
        let leaves = self.leaves.len().max(1);
        let step = (900.0 / leaves as f64).clamp(14.0, 90.0);
        let width = step * leaves as f64;
        let mut page = Page::new(
            LEFT + width.max(360.0) + 30.0,
            TOP + HEIGHT + BELOW,
            &self.title,
        );
        page.text(
            [LEFT, 34.0],
            0.0,
            look(20.0, DARK, Anchor::Start, true),
            &self.title,
        );
        page.text(
            [LEFT, 54.0],
            0.0,
            look(12.5, GREY, Anchor::Start, false),
            &self.subtitle,
        );
        let mut grid = String::new();
        for (value, label) in y.ticks(7) {
            let at = TOP + (1.0 - y.part(value)) * HEIGHT;
            let _ = write!(grid, "M{LEFT} {at:.1}h{width:.1}");
            page.text(
                [LEFT - 7.0, at + 4.0],
                0.0,
                look(11.0, GREY, Anchor::End, false),
                &label,
            );
        }
        page.raw(format_args!(
            "<path d=\"{grid}\" stroke=\"#e1e7ec\" fill=\"none\"/>"
        ));
        let mut tree = Tree {
            drawn: self,
            y: &y,
            step,
            next: 0,
            lines: String::new(),
            places: Vec::new(),
        };
        tree.draw();
        page.raw(format_args!(
            "<path d=\"{}\" stroke=\"#1f6fb4\" stroke-width=\"1.6\" fill=\"none\"/>",
            tree.lines
        ));
        for (x, cluster) in &tree.places {
            let at = [*x, TOP + HEIGHT + 12.0];
            page.text(
                at,
                60.0,
                look(11.0, DARK, Anchor::Start, false),
                &self.leaves[*cluster],
            );
        }
        let beside = [20.0, TOP + HEIGHT / 2.0];
        page.text(
            beside,
            -90.0,
            look(12.5, DARK, Anchor::Middle, false),
            &y.title,
        );
        page.finish()
    }
}

fn look(size: f64, colour: &'static str, anchor: Anchor, bold: bool) -> Type {
    Type {
        size,
        colour,
        bold,
        anchor,
    }
}

/// A tree that is being drawn, leaf after leaf.
struct Tree<'a> {
    drawn: &'a Dendrogram,
    y: &'a Axis,
    step: f64,
    /// Leaves so far.
    next: usize,
    lines: String,
    places: Vec<(f64, usize)>,
}

/// What is still to be drawn.
enum DrawStep {
    /// What becomes of a cluster, and its next split.
    Cluster(usize, Option<usize>),
    /// The line above the two parts of a split, which were drawn last.
    Bridge(usize),
}

impl Tree<'_> {
    /// Draws what becomes of the first cluster. Splits may follow each other in any number, so what
    /// is begun lies in a vector.
    fn draw(&mut self) {
        let (first, following) = self.following();
        let mut steps = vec![DrawStep::Cluster(0, first)];
        let mut drawn = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                DrawStep::Cluster(cluster, None) => drawn.push(self.leaf(cluster)),
                DrawStep::Cluster(cluster, Some(split)) => {
                    let [left, right] = following[split];
                    // The last one is taken first.
                    steps.push(DrawStep::Bridge(split));
                    steps.push(DrawStep::Cluster(split + 1, right));
                    steps.push(DrawStep::Cluster(cluster, left));
                }
                DrawStep::Bridge(split) => {
                    if let (Some(right), Some(left)) = (drawn.pop(), drawn.pop()) {
                        drawn.push(self.bridge(split, left, right));
                    }
                }
            }
        }
    }

    /// The first split of the first cluster, and of each split the next ones of its two parts.
    fn following(&self) -> (Option<usize>, Vec<[Option<usize>; 2]>) {
        let splits = &self.drawn.splits;
        let mut next = BTreeMap::new();
        let mut following = vec![[None; 2]; splits.len()];
        for (split, (cluster, _)) in splits.iter().enumerate().rev() {
            let right = next.get(&(split + 1)).copied();
            following[split] = [next.insert(*cluster, split), right];
        }
        (next.get(&0).copied(), following)
    }

    /// The place of the line of a cluster that stays, and the height at which it begins.
    fn leaf(&mut self, cluster: usize) -> (f64, f64) {
        let x = LEFT + (self.next as f64 + 0.5) * self.step;
        self.next += 1;
        self.places.push((x, cluster));
        (x, TOP + HEIGHT)
    }

    /// As [`Tree::leaf`] of a cluster that becomes two.
    fn bridge(&mut self, split: usize, left: (f64, f64), right: (f64, f64)) -> (f64, f64) {
        let critical = self.drawn.splits[split].1;
        let top = TOP + (1.0 - self.y.part(critical.log10())) * HEIGHT;
        let _ = write!(
            self.lines,
            "M{:.1} {:.1}V{top:.1}H{:.1}V{:.1}",
            left.0, left.1, right.0, right.1
        );
        (f64::midpoint(left.0, right.0), top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_a_leaf_and_every_split_a_bridge() {
        let tree = Dendrogram {
            title: "t".to_owned(),
            subtitle: "s".to_owned(),
            splits: vec![(0, 8.0), (1, 4.0), (0, 2.0)],
            leaves: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
        };
        let svg = tree.draw();
        assert!(svg.ends_with("</svg>\n"));
        let line = svg.lines().find(|line| line.contains("#1f6fb4")).unwrap();
        assert_eq!(line.matches('H').count(), 3);
        let at = |text: &str| svg.find(&format!(">{text}<")).unwrap();
        // 0 becomes 0 and 1, 1 becomes 1 and 2, 0 becomes 0 and 3.
        assert!(at("a") < at("d") && at("d") < at("b") && at("b") < at("c"));
        let one = Dendrogram {
            splits: Vec::new(),
            leaves: vec!["a".to_owned()],
            ..tree
        };
        assert!(one.draw().contains(">a<"));
    }

    #[test]
    fn splits_in_a_row_may_be_of_any_number() {
        const SPLITS: usize = 100_000;
        // The first cluster again and again, and each time the newest one.
        for newest in [0, 1] {
            let split = |split| (split * newest, (SPLITS - split) as f64);
            let tree = Dendrogram {
                title: "t".to_owned(),
                subtitle: "s".to_owned(),
                splits: (0..SPLITS).map(split).collect(),
                leaves: (0..=SPLITS).map(|leaf| format!("leaf {leaf}")).collect(),
            };
            let svg = tree.draw();
            let line = svg.lines().find(|line| line.contains("#1f6fb4")).unwrap();
            assert_eq!(line.matches('H').count(), SPLITS);
            // The first cluster is the leftmost, and beside it what it has split off last.
            let at = |leaf: usize| svg.find(&format!(">leaf {leaf}<")).unwrap();
            let beside = if newest == 0 { SPLITS } else { 1 };
            assert!(at(0) < at(beside) && at(beside) < at(2));
        }
    }
}
