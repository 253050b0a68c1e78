//! Ranks as a grid of any number of dimensions.

use super::neighbourhood::{Edges, Neighbourhood};
use crate::{CommError, Communicator};
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;

/// A communicator whose ranks form a grid, round the end in the dimensions that are periodic
/// (MPI_CART_CREATE).
///
/// It is a [`Neighbourhood`], and a [`Communicator`]. A rank's neighbours are, for each dimension,
/// the one before it and the one behind it. The last coordinate runs fastest, as in C.
///
/// Made by [`Communicator::cartesian`].
#[derive(Debug)]
pub struct Cartesian {
    ranks: Neighbourhood,
    dims: Vec<usize>,
    periodic: Vec<bool>,
}

/// Cuts `ranks` into as many factors as `dims` has entries, as close to each other as can be, the
/// larger first. Entries that are not 0 are kept (MPI_DIMS_CREATE).
///
/// # Errors
/// [`CommError::Arguments`] when the entries that are kept do not divide `ranks`.
///
/// ```
/// use motet_comm::dims_create;
///
/// assert_eq!(dims_create(12, &[0, 0]).unwrap(), [4, 3]);
/// assert_eq!(dims_create(12, &[0, 2, 0]).unwrap(), [3, 2, 2]);
/// assert!(dims_create(7, &[2, 0]).is_err());
/// ```
pub fn dims_create(ranks: usize, dims: &[usize]) -> Result<Vec<usize>, CommError> {
    let free = dims.iter().filter(|&&size| size == 0).count();
    let kept = product(dims.iter().copied().filter(|&size| size > 0));
    let fits =
        |&kept: &usize| ranks > 0 && ranks.is_multiple_of(kept) && (free > 0 || ranks == kept);
    let Some(kept) = kept.filter(fits) else {
        let problem = format!("{ranks} ranks cannot be cut into dimensions {dims:?}");
        return Err(CommError::Arguments { problem });
    };
    let rest = ranks / kept;
    let mut factors = closest(rest, free, rest).into_iter();
    let fill = |&size: &usize| match size {
        0 => factors.next().unwrap_or(1),
        kept => kept,
    };
    Ok(dims.iter().map(fill).collect())
}

impl Communicator {
    /// Makes a grid of the first ranks, as many as the dimensions hold; the others get `None`. All
    /// ranks call this together, with the same arguments.
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there are not enough ranks, or not one `periodic` for each
    /// dimension; [`CommError::Mismatch`] when a rank is in another collective.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// // A torus of 2 × 3: each rank sees its four neighbours' ranks.
    /// let seen = World::threads(6)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let grid = comm.cartesian(&[2, 3], &[true, true]).await?.expect("it is in it");
    ///         assert_eq!(grid.coords(grid.rank())?, [comm.rank() / 3, comm.rank() % 3]);
    ///         grid.neighbour_allgather(grid.rank()).await
    ///     })
    ///     .unwrap();
    /// assert_eq!(seen[0], [Some(3), Some(3), Some(2), Some(1)]);
    /// ```
    #[track_caller]
    pub fn cartesian(
        &self,
        dims: &[usize],
        periodic: &[bool],
    ) -> impl Future<Output = Result<Option<Cartesian>, CommError>> + use<'_> {
        let (dims, periodic, location) = (dims.to_vec(), periodic.to_vec(), Location::caller());
        async move {
            let fits = |&size: &usize| (1..=self.size()).contains(&size);
            let size = product(dims.iter().copied()).filter(fits);
            let Some(size) = size.filter(|_| dims.len() == periodic.len()) else {
                let problem = format!(
                    "a grid of {dims:?}, periodic {periodic:?}, among {} ranks",
                    self.size()
                );
                return Err(CommError::Arguments { problem });
            };
            let color = (self.rank() < size).then_some(0);
            let comm = self.split_as("cartesian", color, 0, location).await?;
            Ok(comm.map(|comm| Cartesian::new(comm, dims, periodic)))
        }
    }
}

impl Cartesian {
    fn new(comm: Communicator, dims: Vec<usize>, periodic: Vec<bool>) -> Self {
        let rank = comm.rank();
        let mut grid = Cartesian {
            ranks: Neighbourhood::new(comm, Edges::default()),
            dims,
            periodic,
        };
        let mut edges = Edges::default();
        for dimension in 0..grid.dims.len() {
            let (before, behind) = grid.shifted(rank, dimension, 1);
            // A message bears the number of its edge as the receiver counts: who is before me has
            // me behind.
            let number = 2 * u32::try_from(dimension).expect("there are few dimensions");
            edges
                .sources
                .extend([(before, number), (behind, number + 1)]);
            edges
                .destinations
                .extend([(before, number + 1), (behind, number)]);
        }
        grid.ranks.set_edges(edges);
        grid
    }

    /// The number of ranks in each dimension (MPI_CART_GET).
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Which dimensions go round the end.
    #[must_use]
    pub fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// The place of a rank in the grid (MPI_CART_COORDS).
    ///
    /// # Errors
    /// [`CommError::NoSuchRank`].
    pub fn coords(&self, rank: usize) -> Result<Vec<usize>, CommError> {
        self.check_rank(rank)?;
        Ok(self.place_of(rank))
    }

    /// The place of a rank that is in the grid.
    fn place_of(&self, rank: usize) -> Vec<usize> {
        let mut rest = rank;
        let mut coords = vec![0; self.dims.len()];
        for (coord, size) in coords.iter_mut().zip(&self.dims).rev() {
            *coord = rest % size;
            rest /= size;
        }
        coords
    }

    /// The rank at a place, which may lie beyond the ends of periodic dimensions; `None` for one
    /// beyond others (MPI_CART_RANK).
    ///
    /// # Panics
    /// If there is not one coordinate for each dimension.
    #[must_use]
    pub fn rank_at(&self, coords: &[isize]) -> Option<usize> {
        assert_eq!(
            coords.len(),
            self.dims.len(),
            "one coordinate per dimension"
        );
        let mut rank = 0;
        for ((coord, &size), periodic) in coords.iter().zip(&self.dims).zip(&self.periodic) {
            let size = size.cast_signed();
            let inside = if *periodic {
                coord.rem_euclid(size)
            } else {
                Some(*coord).filter(|coord| (0..size).contains(coord))?
            };
            rank = rank * size + inside;
        }
        Some(rank.cast_unsigned())
    }

    /// From whom this rank receives and to whom it sends when all shift `by` places along a
    /// dimension (MPI_CART_SHIFT). `None` is the null process, beyond the end.
    ///
    /// # Panics
    /// If there is no such dimension.
    ///
    /// ```
    /// use motet_comm::{CommError, World};
    ///
    /// let sums = World::threads(4)
    ///     .run(async |comm| -> Result<_, CommError> {
    ///         let line = comm.cartesian(&[4], &[false]).await?.expect("it is in it");
    ///         let (source, dest) = line.cart_shift(0, 1);
    ///         let mut value = line.rank();
    ///         line.sendrecv_replace(&mut value, dest, source, 0).await?;
    ///         Ok(value)
    ///     })
    ///     .unwrap();
    /// assert_eq!(sums, [0, 0, 1, 2]);
    /// ```
    #[must_use]
    pub fn cart_shift(&self, dimension: usize, by: isize) -> (Option<usize>, Option<usize>) {
        self.shifted(self.rank(), dimension, by)
    }

    /// The grid of the ranks that differ from this one only in the dimensions that are kept
    /// (MPI_CART_SUB).
    ///
    /// # Errors
    /// [`CommError::Arguments`] when there is not one answer for each dimension;
    /// [`CommError::Mismatch`] when a rank is in another collective.
    #[track_caller]
    pub fn sub(
        &self,
        keep: &[bool],
    ) -> impl Future<Output = Result<Cartesian, CommError>> + use<'_> {
        let (keep, location) = (keep.to_vec(), Location::caller());
        async move {
            if keep.len() != self.dims.len() {
                let problem = format!("sub keeps {keep:?} of dimensions {:?}", self.dims);
                return Err(CommError::Arguments { problem });
            }
            let coords = self.place_of(self.rank());
            let mut color = 0;
            for ((coord, size), keep) in coords.iter().zip(&self.dims).zip(&keep) {
                if !keep {
                    color = color * size + coord;
                }
            }
            let comm = self.split_as("sub", Some(color), 0, location).await?;
            let places = (0..keep.len()).filter(|&dimension| keep[dimension]);
            let places: Vec<usize> = places.collect();
            Ok(Cartesian::new(
                comm.expect("every rank has a color"),
                places
                    .iter()
                    .map(|&dimension| self.dims[dimension])
                    .collect(),
                places
                    .iter()
                    .map(|&dimension| self.periodic[dimension])
                    .collect(),
            ))
        }
    }

    fn shifted(&self, rank: usize, dimension: usize, by: isize) -> (Option<usize>, Option<usize>) {
        let here: Vec<isize> = self
            .place_of(rank)
            .into_iter()
            .map(usize::cast_signed)
            .collect();
        // Round the end once is nowhere; beyond what can be counted there is nobody.
        let by = if self.periodic[dimension] {
            by.rem_euclid(self.dims[dimension].cast_signed())
        } else {
            by
        };
        let at = |by: Option<isize>| {
            let mut there = here.clone();
            there[dimension] = there[dimension].checked_add(by?)?;
            self.rank_at(&there)
        };
        (at(by.checked_neg()), at(Some(by)))
    }
}

impl Deref for Cartesian {
    type Target = Neighbourhood;

    fn deref(&self) -> &Neighbourhood {
        &self.ranks
    }
}

/// The product, if there can be so many ranks.
fn product(sizes: impl IntoIterator<Item = usize>) -> Option<usize> {
    let mut sizes = sizes.into_iter();
    sizes.try_fold(1_usize, |product, size| product.checked_mul(size))
}

/// The `count` factors of `number`, none above `most` and falling, whose largest is the smallest
/// that can be. Empty when there are none.
fn closest(number: usize, count: usize, most: usize) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    if count == 1 {
        return Vec::from_iter((number <= most).then_some(number));
    }
    for first in divisors(number).into_iter().filter(|&it| it <= most) {
        let rest = closest(number / first, count - 1, first);
        if rest.len() == count - 1 {
            return [vec![first], rest].concat();
        }
    }
    Vec::new()
}

/// All divisors, in order. Those above the root are found by those below it.
fn divisors(number: usize) -> Vec<usize> {
    let low = (1..=number.isqrt()).filter(|&it| number.is_multiple_of(it));
    let mut all: Vec<usize> = low.collect();
    let high: Vec<usize> = all.iter().rev().map(|it| number / it).collect();
    all.extend(high);
    all.dedup();
    all
}
