//! Points counted in cells: what is drawn of a hundred thousand points.

use std::fmt::Write;

/// Counts of points per cell and cluster.
#[derive(Debug)]
pub(crate) struct Grid {
    across: usize,
    down: usize,
    /// For each cell the clusters in it with their counts; few clusters meet in one cell.
    cells: Vec<Vec<(u32, u32)>>,
}

impl Grid {
    /// An empty grid of `across` × `down` cells.
    pub(crate) fn new(across: usize, down: usize) -> Grid {
        Grid {
            across,
            down,
            cells: vec![Vec::new(); across * down],
        }
    }

    /// Counts a point of `cluster` at `x`, `y`. These are parts of the width from the left and of
    /// the height from the top, both 0 to 1.
    pub(crate) fn count(&mut self, x: f64, y: f64, cluster: u32) {
        let index = |part: f64, cells: usize| ((part * cells as f64) as usize).min(cells - 1);
        let cell = index(y, self.down) * self.across + index(x, self.across);
        let counts = &mut self.cells[cell];
        match counts.iter_mut().find(|(there, _)| *there == cluster) {
            Some((_, count)) => *count += 1,
            None => counts.push((cluster, 1)),
        }
    }

    /// The number of points that few cells exceed: one spot with very many must not make all others
    /// look empty.
    pub(crate) fn full(&self) -> u32 {
        const EXCEEDING: f64 = 0.01;
        let counts = self
            .cells
            .iter()
            .map(|counts| total(counts))
            .filter(|&count| count > 0);
        let mut counts: Vec<u32> = counts.collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let index = (counts.len() as f64 * EXCEEDING) as usize;
        counts.get(index).copied().unwrap_or(1)
    }

    /// The outlines of the cells, as SVG paths in units of cells. They are by the cluster that has
    /// most points in a cell (the lower number of equals) and by `level(points)`. Neighbours in a
    /// row that are drawn alike are one rectangle.
    pub(crate) fn paths(&self, level: impl Fn(u32) -> usize) -> Vec<Layer> {
        let mut layers: Vec<Layer> = Vec::new();
        for (row, cells) in self.cells.chunks_exact(self.across).enumerate() {
            let mut start = 0;
            while start < self.across {
                let look = look(&cells[start], &level);
                let same = cells[start..]
                    .iter()
                    .take_while(|cell| self::look(cell, &level) == look);
                let length = same.count();
                if let Some((cluster, level)) = look {
                    layer(&mut layers, cluster, level).add(start, row, length);
                }
                start += length;
            }
        }
        layers.sort_by_key(|layer| (layer.cluster, layer.level));
        layers
    }
}

/// The cells that are drawn alike.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Their cluster.
    pub(crate) cluster: u32,
    /// Their level of density.
    pub(crate) level: usize,
    /// Their outlines.
    pub(crate) path: String,
    /// Where the last outline begins: the next is given relative to it, which is shorter.
    at: (i64, i64),
}

impl Layer {
    fn add(&mut self, column: usize, row: usize, length: usize) {
        let (column, row) = (column as i64, row as i64);
        let (dx, dy) = (column - self.at.0, row - self.at.1);
        self.at = (column, row);
        let _ = write!(self.path, "m{dx} {dy}h{length}v1h-{length}z");
    }
}

fn layer(layers: &mut Vec<Layer>, cluster: u32, level: usize) -> &mut Layer {
    let found = layers
        .iter()
        .position(|l| (l.cluster, l.level) == (cluster, level));
    let index = found.unwrap_or_else(|| {
        layers.push(Layer {
            cluster,
            level,
            path: String::new(),
            at: (0, 0),
        });
        layers.len() - 1
    });
    &mut layers[index]
}

/// The cluster with most points in a cell and the level of its density; `None` for an empty cell.
fn look(counts: &[(u32, u32)], level: &impl Fn(u32) -> usize) -> Option<(u32, usize)> {
    let (cluster, _) = counts
        .iter()
        .max_by_key(|(cluster, count)| (*count, u32::MAX - cluster))?;
    Some((*cluster, level(total(counts))))
}

fn total(counts: &[(u32, u32)]) -> u32 {
    counts.iter().map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_take_the_cluster_with_most_points() {
        let mut grid = Grid::new(3, 2);
        for cluster in [7, 2, 7] {
            grid.count(0.0, 0.0, cluster);
        }
        grid.count(0.4, 0.0, 7);
        grid.count(1.0, 1.0, 2);
        assert_eq!(grid.full(), 3);
        let paths: Vec<_> = grid
            .paths(|_| 0)
            .into_iter()
            .map(|l| (l.cluster, l.path))
            .collect();
        assert_eq!(
            paths,
            [
                (2, "m2 1h1v1h-1z".to_owned()),
                (7, "m0 0h2v1h-2z".to_owned())
            ]
        );
    }

    #[test]
    fn one_very_full_cell_does_not_set_the_density() {
        let mut grid = Grid::new(200, 1);
        for cell in 0..200 {
            grid.count((f64::from(cell) + 0.5) / 200.0, 0.5, 1);
            grid.count((f64::from(cell) + 0.5) / 200.0, 0.5, 1);
        }
        for _ in 0..1000 {
            grid.count(0.0, 0.5, 1);
        }
        assert_eq!(grid.full(), 2);
    }

    #[test]
    fn levels_part_cells_of_one_cluster() {
        let mut grid = Grid::new(2, 1);
        grid.count(0.1, 0.5, 1);
        grid.count(0.9, 0.5, 1);
        grid.count(0.9, 0.5, 1);
        let levels: Vec<_> = grid.paths(|n| n as usize).iter().map(|l| l.level).collect();
        assert_eq!(levels, [1, 2]);
    }

    #[test]
    fn the_lower_number_of_equals_wins() {
        let mut grid = Grid::new(1, 1);
        grid.count(0.5, 0.5, 9);
        grid.count(0.5, 0.5, 4);
        assert_eq!(grid.paths(|_| 0)[0].cluster, 4);
    }
}
