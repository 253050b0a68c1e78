//! Similarity search: the rows that are most like a row.

use super::compare::{shared, tanimoto};
use super::{Bits, Likeness};
use crate::boxed::LocalBoxFuture;
use crate::rank_view::RankView;
use crate::{Control, DataError, MiningError, ParameterError};
use motet_comm::Communicator;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Rows of the data that are compared at a time: they stay in the cache for some queries.
const BLOCK: usize = 256;
/// Queries between two looks at the cancel token.
const QUERIES: usize = 64;

/// Search for the rows of some data that are most like each of some queries.
///
/// # Examples
///
/// ```
/// use motet_comm::World;
/// use motet_mining::{Bits, Control, Neighbours, Similar};
///
/// let data = Bits::new(vec![0b0011, 0b0111, 0b1100], 4)?;
/// let query = Bits::new(vec![0b0011], 4)?;
/// let search = Similar { most: 2, ..Similar::default() };
/// let parts = World::threads(2)
///     .run(async |comm| search.find(&comm, &query, &data, &Control::default()).await)
///     .unwrap();
/// let found = Neighbours::join(parts).unwrap();
/// let rows: Vec<u32> = found.of(0).iter().map(|neighbour| neighbour.row).collect();
/// assert_eq!(rows, [0, 1]);
/// assert_eq!(found.of(0)[1].likeness, 2.0 / 3.0);
/// # Ok::<(), motet_mining::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Similar {
    /// The measure.
    pub likeness: Likeness,
    /// The most rows that are found for a query.
    pub most: usize,
    /// Rows that are less like the query are left out. For Hamming it is not positive.
    pub threshold: f64,
    /// Leave out, of a query that is a row of the data itself, that row: query and row have the
    /// same number.
    pub without_itself: bool,
}

impl Default for Similar {
    fn default() -> Similar {
        Similar {
            likeness: Likeness::Tanimoto,
            most: 10,
            threshold: f64::NEG_INFINITY,
            without_itself: false,
        }
    }
}

/// A row that is like a query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The row of the data.
    pub row: u32,
    /// How like it is.
    pub likeness: f64,
}

/// What [`Similar::find`] finds for the queries of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Neighbours {
    /// The queries whose neighbours are here.
    pub queries: Range<usize>,
    found: Vec<Vec<Neighbour>>,
}

impl Neighbours {
    /// The neighbours of one query, the most like first; of equals the first row comes first.
    ///
    /// # Panics
    ///
    /// If the query is not one of these.
    pub fn of(&self, query: usize) -> &[Neighbour] {
        &self.found[query - self.queries.start]
    }

    /// Joins the parts of all ranks, in rank order; `None` if there are no parts or one does not
    /// follow the one before.
    pub fn join(parts: impl IntoIterator<Item = Neighbours>) -> Option<Neighbours> {
        let mut parts = parts.into_iter();
        let mut whole = parts.next()?;
        for part in parts {
            if part.queries.start != whole.queries.end {
                return None;
            }
            whole.queries.end = part.queries.end;
            whole.found.extend(part.found);
        }
        Some(whole)
    }
}

impl Similar {
    /// Finds the rows of `data` that are most like each row of `queries`; all ranks of `comm` call
    /// it with the same input and parameters. The queries are divided among the ranks.
    ///
    /// # Errors
    ///
    /// [`MiningError::Parameter`]; [`MiningError::Data`] if queries and data have not as many
    /// columns; [`MiningError::Cancelled`], [`MiningError::Comm`]; on all ranks alike.
    pub fn find<'a>(
        &'a self,
        comm: &'a Communicator,
        queries: &'a Bits,
        data: &'a Bits,
        control: &'a Control<'a>,
    ) -> LocalBoxFuture<'a, Result<Neighbours, MiningError>> {
        Box::pin(async move {
            if self.most == 0 {
                return Err(ParameterError::Zero { field: "most" }.into());
            }
            if self.threshold.is_nan() {
                return Err(MiningError::Parameter(ParameterError::OutOfRange {
                    field: "threshold",
                    value: self.threshold,
                    range: "a number",
                }));
            }
            if queries.width() != data.width() {
                return Err(MiningError::Data(DataError::Columns {
                    columns: queries.width(),
                    fitted: data.width(),
                }));
            }
            let team = RankView::new(comm, control);
            let share = team.share(queries.len());
            let ones: Vec<u32> = (0..data.len()).map(|row| data.ones(row) as u32).collect();
            let mut found = Vec::with_capacity(share.len());
            let mut start = share.start;
            while start < share.end && !control.is_cancelled() {
                let end = share.end.min(start + QUERIES);
                found.extend(self.among(queries, start..end, data, &ones));
                start = end;
            }
            team.agree(start < share.end).await?;
            Ok(Neighbours {
                queries: share,
                found,
            })
        })
    }

    fn among(
        &self,
        queries: &Bits,
        range: Range<usize>,
        data: &Bits,
        ones: &[u32],
    ) -> Vec<Vec<Neighbour>> {
        let stride = data.row(0).len();
        let mut found = vec![Vec::new(); range.len()];
        let mut counts = vec![0; BLOCK];
        for first in (0..data.len()).step_by(BLOCK) {
            let last = data.len().min(first + BLOCK);
            let rows = &data.words[first * stride..last * stride];
            for (query, found) in range.clone().zip(&mut found) {
                let counts = &mut counts[..last - first];
                shared(queries.row(query), rows, counts);
                let own = queries.ones(query);
                for (row, both) in (first..last).zip(counts) {
                    let (other, both) = (ones[row] as usize, *both as usize);
                    let likeness = match self.likeness {
                        Likeness::Tanimoto => tanimoto(own, other, both),
                        Likeness::Hamming => 2.0 * both as f64 - (own + other) as f64,
                    };
                    if likeness >= self.threshold && !(self.without_itself && row == query) {
                        let row = row as u32;
                        keep(found, self.most, Neighbour { row, likeness });
                    }
                }
            }
        }
        found
    }
}

/// Puts a neighbour in its place among at most so many.
fn keep(found: &mut Vec<Neighbour>, most: usize, new: Neighbour) {
    if found.len() == most && found[most - 1].likeness >= new.likeness {
        return;
    }
    // Rows come in ascending order: a later one goes behind its equals.
    let place = found.partition_point(|old| old.likeness >= new.likeness);
    if found.len() == most {
        found.pop();
    }
    found.insert(place, new);
}
