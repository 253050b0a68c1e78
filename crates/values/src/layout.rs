//! Layouts: which elements of an array belong together, to be gathered into a message, scattered
//! out of one, or found in a file.

use crate::Plain;
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Blocks of elements in an array, in an order: what MPI describes by a derived datatype (MPI-3.1,
/// 4.1).
///
/// It counts elements, not bytes, and begins at the start of the array. No element is in two
/// blocks.
///
/// ```
/// use motet_values::Layout;
///
/// // The second column of a matrix of three rows and four columns.
/// let column = Layout::subarray(&[3, 4], &[3, 1], &[0, 1])?;
/// let matrix: Vec<u32> = (0..12).collect();
/// assert_eq!(column.gather(&matrix)?, [1, 5, 9]);
/// assert_eq!(column.blocks().collect::<Vec<_>>(), [1..2, 5..6, 9..10]);
/// # Ok::<(), motet_values::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// How often the blocks are repeated, and how far apart; the outermost first.
    outer: Vec<Repeat>,
    blocks: Vec<Range<usize>>,
    length: usize,
    extent: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Repeat {
    count: usize,
    stride: usize,
}

/// A layout cannot be, or an array or elements do not fit it. It says why.
///
/// ```
/// use motet_values::Layout;
///
/// let error = Layout::contiguous(3).gather(&[1, 2]).unwrap_err();
/// assert_eq!(error.to_string(), "layout: it reaches to element 3 of an array of 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutError {
    problem: String,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layout: {}", self.problem)
    }
}

impl Error for LayoutError {}

impl Layout {
    /// So many elements in a row (MPI_TYPE_CONTIGUOUS).
    #[must_use]
    pub fn contiguous(length: usize) -> Self {
        Layout {
            outer: Vec::new(),
            blocks: std::iter::once(0..length)
                .filter(|it| !it.is_empty())
                .collect(),
            length,
            extent: length,
        }
    }

    /// `count` blocks of `block` elements each, which begin `stride` elements apart
    /// (MPI_TYPE_VECTOR).
    ///
    /// # Errors
    /// [`LayoutError`] when blocks overlap, or the layout is longer than a `usize` can say.
    pub fn vector(count: usize, block: usize, stride: usize) -> Result<Self, LayoutError> {
        let one = Layout::contiguous(block);
        let all = one.resized(stride)?.repeated(count)?;
        // Behind the last block is nothing.
        let gap = stride - block;
        let extent = all.extent.saturating_sub(gap);
        Ok(Layout { extent, ..all })
    }

    /// Blocks, in this order (MPI_TYPE_INDEXED). Empty ones are left out.
    ///
    /// # Errors
    /// [`LayoutError`] when blocks overlap or end before they begin.
    pub fn indexed(blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Self, LayoutError> {
        let mut kept: Vec<Range<usize>> = Vec::new();
        for block in blocks {
            if block.start > block.end {
                return Err(refused(format!("a block ends before it begins: {block:?}")));
            }
            match kept.last_mut() {
                _ if block.is_empty() => {}
                Some(last) if last.end == block.start => last.end = block.end,
                _ => kept.push(block),
            }
        }
        let mut sorted: Vec<&Range<usize>> = kept.iter().collect();
        sorted.sort_unstable_by_key(|block| block.start);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].end > pair[1].start) {
            return Err(refused(format!(
                "blocks {:?} and {:?} overlap",
                pair[0], pair[1]
            )));
        }
        let extent = sorted.last().map_or(0, |last| last.end);
        Ok(Layout {
            outer: Vec::new(),
            length: kept.iter().map(ExactSizeIterator::len).sum(),
            blocks: kept,
            extent,
        })
    }

    /// Blocks of one length that begin at these elements (MPI_TYPE_CREATE_INDEXED_BLOCK).
    ///
    /// # Errors
    /// As [`Layout::indexed`].
    pub fn indexed_blocks(block: usize, starts: &[usize]) -> Result<Self, LayoutError> {
        let ends = |start: usize| start.checked_add(block).map(|end| start..end);
        let blocks: Option<Vec<_>> = starts.iter().map(|&start| ends(start)).collect();
        Layout::indexed(blocks.ok_or_else(too_long)?)
    }

    /// A part of an array of as many dimensions as there are `sizes`, of which the last one changes
    /// fastest. The part is `lengths` elements of each dimension from `starts` on
    /// (MPI_TYPE_CREATE_SUBARRAY, MPI_ORDER_C). Its extent is the whole array.
    ///
    /// # Errors
    /// [`LayoutError`] when the three are not equally long, or the part does not lie in the array.
    pub fn subarray(
        sizes: &[usize],
        lengths: &[usize],
        starts: &[usize],
    ) -> Result<Self, LayoutError> {
        let same = sizes.len() == lengths.len() && sizes.len() == starts.len();
        let inside = (sizes.iter().zip(lengths).zip(starts))
            .all(|((&size, &length), &start)| start <= size && length <= size - start);
        if sizes.is_empty() || !same || !inside {
            return Err(refused(format!(
                "{lengths:?} elements from {starts:?} do not lie in an array of {sizes:?}"
            )));
        }
        let whole = sizes
            .iter()
            .try_fold(1_usize, |all, &size| all.checked_mul(size));
        let extent = whole.ok_or_else(too_long)?;
        if lengths.contains(&0) {
            return Layout::contiguous(0).resized(extent);
        }
        let (mut first, mut stride, mut outer) = (0, 1, Vec::new());
        for ((&size, &length), &start) in sizes.iter().zip(lengths).zip(starts).rev() {
            first += start * stride;
            outer.insert(
                0,
                Repeat {
                    count: length,
                    stride,
                },
            );
            stride *= size;
        }
        // Elements that lie in a row are one block.
        let mut run = 1;
        while let Some(last) = outer.pop_if(|last| last.stride == run || last.count == 1) {
            run *= last.count;
        }
        Ok(Layout {
            outer,
            blocks: std::iter::once(first..first + run).collect(),
            length: lengths.iter().product(),
            extent,
        })
    }

    /// The same `count` times, one behind the other (MPI_TYPE_CONTIGUOUS of another type).
    ///
    /// # Errors
    /// [`LayoutError`] when it is longer than a `usize` can say.
    pub fn repeated(mut self, count: usize) -> Result<Self, LayoutError> {
        let stride = self.extent;
        self.extent = stride.checked_mul(count).ok_or_else(too_long)?;
        self.length *= count;
        match (&self.blocks[..], self.outer.is_empty()) {
            // In a row.
            ([block], true) if *block == (0..stride) => {
                self.blocks = Layout::contiguous(self.extent).blocks;
            }
            _ if self.length == 0 => (self.outer, self.blocks) = (Vec::new(), Vec::new()),
            _ if count > 1 => self.outer.insert(0, Repeat { count, stride }),
            _ => {}
        }
        Ok(self)
    }

    /// This layout of layouts: in the place of each element there is an `inner` one (a derived
    /// datatype of another one).
    ///
    /// # Errors
    /// [`LayoutError`] when it is longer than a `usize` can say.
    ///
    /// ```
    /// use motet_values::Layout;
    ///
    /// // Every other pair of three that are four elements apart.
    /// let pairs = Layout::vector(3, 1, 2)?.of(&Layout::contiguous(2))?;
    /// assert_eq!(pairs.blocks().collect::<Vec<_>>(), [0..2, 4..6, 8..10]);
    /// # Ok::<(), motet_values::LayoutError>(())
    /// ```
    pub fn of(&self, inner: &Layout) -> Result<Self, LayoutError> {
        let extent = self.extent.checked_mul(inner.extent).ok_or_else(too_long)?;
        let length = self.length * inner.length;
        let mut of = Layout {
            outer: Vec::new(),
            blocks: Vec::new(),
            length,
            extent,
        };
        if length == 0 {
            return Ok(of);
        }
        let scaled = |it: &Repeat| Repeat {
            count: it.count,
            stride: it.stride * inner.extent,
        };
        of.outer = self.outer.iter().map(scaled).collect();
        for block in &self.blocks {
            let one = inner.clone().repeated(block.len())?;
            let start = block.start * inner.extent;
            let mut moved = one
                .blocks()
                .map(|block| block.start + start..block.end + start);
            match (&self.blocks[..], &one.blocks[..]) {
                // One repeats what the other one has.
                ([_], _) => {
                    of.outer.extend_from_slice(&one.outer);
                    let blocks = one.blocks.iter();
                    of.blocks = blocks.map(|it| it.start + start..it.end + start).collect();
                }
                _ => of.blocks.extend(&mut moved),
            }
        }
        Ok(of)
    }

    /// The same, so long that the next one begins at element `extent` (MPI_TYPE_CREATE_RESIZED).
    ///
    /// # Errors
    /// [`LayoutError`] when that is inside the layout.
    pub fn resized(mut self, extent: usize) -> Result<Self, LayoutError> {
        let reach = self.reach();
        if extent < reach {
            return Err(refused(format!(
                "it reaches to element {reach}, past {extent}"
            )));
        }
        self.extent = extent;
        Ok(self)
    }

    /// How many elements it has (MPI_TYPE_SIZE).
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where the next one begins (MPI_TYPE_GET_EXTENT).
    #[must_use]
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// Where its last element ends (MPI_TYPE_GET_TRUE_EXTENT): so long an array must be at least.
    #[must_use]
    pub fn reach(&self) -> usize {
        let last = self.blocks.iter().map(|block| block.end).max();
        let outer = self.outer.iter().map(|it| (it.count - 1) * it.stride);
        last.map_or(0, |last| last + outer.sum::<usize>())
    }

    /// Whether its blocks follow each other in the array, as in a file they must.
    #[must_use]
    pub fn ascends(&self) -> bool {
        let (Some(first), Some(last)) = (self.blocks.first(), self.blocks.last()) else {
            return true;
        };
        // Where what is repeated ends. Rounds may be too many to look at each.
        let mut end = last.end;
        let rounds = self.outer.iter().rev().all(|it| {
            let follows = it.count == 1 || end <= first.start + it.stride;
            end += (it.count - 1) * it.stride;
            follows
        });
        let mut pairs = self.blocks.windows(2);
        rounds && pairs.all(|pair| pair[0].end <= pair[1].start)
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let rounds: usize = self.outer.iter().map(|it| it.count).product();
        (0..rounds).flat_map(|round| {
            let (mut left, mut base) = (round, 0);
            for repeat in self.outer.iter().rev() {
                base += left % repeat.count * repeat.stride;
                left /= repeat.count;
            }
            let moved = move |block: &Range<usize>| block.start + base..block.end + base;
            self.blocks.iter().map(moved)
        })
    }

    /// Its elements of an array, in order (MPI_PACK).
    ///
    /// # Errors
    /// [`LayoutError`] when the array is too short.
    pub fn gather<T: Plain>(&self, array: &[T]) -> Result<Vec<T>, LayoutError> {
        self.fits(array.len())?;
        let mut elements = Vec::with_capacity(self.length);
        for block in self.blocks() {
            elements.extend_from_slice(&array[block]);
        }
        Ok(elements)
    }

    /// Puts elements where they belong in an array (MPI_UNPACK).
    ///
    /// # Errors
    /// [`LayoutError`] when the array is too short, or there are not as many elements; nothing is
    /// changed then.
    pub fn scatter<T: Plain>(&self, elements: &[T], array: &mut [T]) -> Result<(), LayoutError> {
        self.fits(array.len())?;
        if elements.len() != self.length {
            let (given, has) = (elements.len(), self.length);
            return Err(refused(format!("{given} elements for one of {has}")));
        }
        let mut rest = elements;
        for block in self.blocks() {
            let (these, others) = rest.split_at(block.len());
            array[block].copy_from_slice(these);
            rest = others;
        }
        Ok(())
    }

    /// Checks that it lies in an array of so many elements.
    ///
    /// # Errors
    /// [`LayoutError`] when the array is too short.
    pub fn fits(&self, array: usize) -> Result<(), LayoutError> {
        let reach = self.reach();
        if array < reach {
            return Err(refused(format!(
                "it reaches to element {reach} of an array of {array}"
            )));
        }
        Ok(())
    }
}

fn refused(problem: impl fmt::Display) -> LayoutError {
    let problem = problem.to_string();
    LayoutError { problem }
}

fn too_long() -> LayoutError {
    refused("it is longer than a usize can say")
}
