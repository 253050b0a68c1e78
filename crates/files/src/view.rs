//! Views: which elements of a file a rank sees, one behind the other.

use crate::FileError;
use motet_comm::Layout;
use std::ops::Range;

/// The part of a file that a rank sees (MPI-3.1, 13.3): the elements of a layout, again and again
/// from `start` on.
///
/// ```
/// use motet_comm::Layout;
/// use motet_files::View;
///
/// // Of three ranks that deal the elements in pairs, the second.
/// let pairs = Layout::contiguous(2).resized(6)?;
/// let view = View::new(2, pairs)?;
/// assert_eq!(view.ranges(1, 4).collect::<Vec<_>>(), [3..4, 8..10, 14..15]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    start: u64,
    layout: Option<Layout>,
}

impl View {
    /// The elements of `layout`, and of those that follow it an extent apart, from element `start`
    /// of the file on.
    ///
    /// # Errors
    /// [`FileError::View`] when the layout is empty, or its blocks do not follow each other.
    pub fn new(start: u64, layout: Layout) -> Result<Self, FileError> {
        let problem = match (layout.is_empty(), layout.ascends()) {
            (true, _) => "a view of an empty layout shows nothing",
            (false, false) => "the blocks of a view must follow each other in the file",
            (false, true) => {
                let layout = Some(layout);
                return Ok(View { start, layout });
            }
        };
        let problem = problem.to_owned();
        Err(FileError::View { problem })
    }

    /// All elements of the file from `start` on.
    #[must_use]
    pub fn from(start: u64) -> Self {
        let layout = None;
        View { start, layout }
    }

    /// Where so many elements from `offset` on, counted in the view, lie in the file. What lies in
    /// a row is one.
    pub fn ranges(&self, offset: u64, length: usize) -> impl Iterator<Item = Range<u64>> {
        let mut walk = Walk::new(self, offset, length);
        let mut next = walk.step();
        std::iter::from_fn(move || {
            let mut range = next.take()?;
            loop {
                next = walk.step();
                match &next {
                    Some(more) if more.start == range.end => range.end = more.end,
                    _ => return Some(range),
                }
            }
        })
    }
}

/// A walk over blocks of the layout, not joined.
struct Walk<'v> {
    view: &'v View,
    /// How many elements are to come.
    left: u64,
    /// Those of the layout that is walked over.
    blocks: Box<dyn Iterator<Item = Range<usize>> + 'v>,
    /// Elements of it to be left out.
    skip: u64,
    /// Where it begins in the file.
    base: u64,
}

impl<'v> Walk<'v> {
    fn new(view: &'v View, offset: u64, length: usize) -> Self {
        let (mut base, mut skip) = (view.start.saturating_add(offset), 0);
        let mut blocks: Box<dyn Iterator<Item = Range<usize>> + 'v> = Box::new(std::iter::empty());
        if let Some(layout) = &view.layout {
            let (each, extent) = (layout.len() as u64, layout.extent() as u64);
            base = view
                .start
                .saturating_add((offset / each).saturating_mul(extent));
            skip = offset % each;
            blocks = Box::new(layout.blocks());
        }
        Walk {
            view,
            left: length as u64,
            blocks,
            skip,
            base,
        }
    }

    fn step(&mut self) -> Option<Range<u64>> {
        if self.left == 0 {
            return None;
        }
        let Some(layout) = &self.view.layout else {
            let all = std::mem::take(&mut self.left);
            return Some(self.base..self.base.saturating_add(all));
        };
        loop {
            let Some(block) = self.blocks.next() else {
                self.base = self.base.saturating_add(layout.extent() as u64);
                self.blocks = Box::new(layout.blocks());
                continue;
            };
            let length = block.len() as u64;
            if length <= self.skip {
                self.skip -= length;
                continue;
            }
            let start = self.base.saturating_add(block.start as u64 + self.skip);
            let taken = (length - self.skip).min(self.left);
            self.skip = 0;
            self.left -= taken;
            return Some(start..start.saturating_add(taken));
        }
    }
}

impl Default for View {
    /// The whole file.
    fn default() -> Self {
        View::from(0)
    }
}
