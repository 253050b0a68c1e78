//! What a rank calls when it comes to a collective, so that ranks in different calls can be told.

use crate::report::WaitOperation;
use crate::wire::{Tail, put_number, put_text};
use crate::{CallSite, CommError};
use motet_trace::known;
use std::any::type_name;
use std::panic::Location;

/// A collective call of one rank. Small: each rank's cell holds one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankCall {
    name: &'static str,
    location: &'static Location<'static>,
    /// Of the elements.
    type_name: fn() -> &'static str,
    /// The number of elements, where all ranks must have the same number.
    length: u64,
    /// The root; or what stands for the lengths of the parts, where all ranks must pass the same.
    root: u32,
    has_parts: bool,
    bare: bool,
}

/// That a rank comes to a collective.
pub(crate) struct CollectiveArrival {
    pub(crate) rank: usize,
    /// The collective's number; the first is 1.
    pub(crate) number: u32,
    pub(crate) call: RankCall,
}

/// No root, no common length.
const NONE: u32 = u32::MAX;
const ANY_LENGTH: u64 = u64::MAX;

impl RankCall {
    /// A call with elements of type `T`.
    pub(crate) fn new<T>(name: &'static str, location: &'static Location<'static>) -> Self {
        RankCall {
            name,
            location,
            type_name: type_name::<T>,
            length: ANY_LENGTH,
            root: NONE,
            has_parts: false,
            bare: false,
        }
    }

    /// A call in which the ranks only meet: each brings `()`, and that is the total.
    pub(crate) fn bare(name: &'static str, location: &'static Location<'static>) -> Self {
        RankCall {
            bare: true,
            ..RankCall::new::<()>(name, location)
        }
    }

    /// Whether the ranks only meet.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }

    /// With this root.
    pub(crate) fn root(mut self, root: usize) -> Self {
        self.root = u32::try_from(root).unwrap_or(NONE);
        self
    }

    /// With so many elements on every rank.
    pub(crate) fn length(mut self, length: usize) -> Self {
        self.length = length as u64;
        self
    }

    /// With parts of these lengths on every rank; such a call has no root.
    pub(crate) fn parts(mut self, lengths: &[usize]) -> Self {
        /// Odd, and its bits are as if by chance: each length changes the upper half.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let digest = lengths.iter().fold(SPREAD, |digest, &length| {
            (digest.rotate_left(5) ^ length as u64).wrapping_mul(SPREAD)
        });
        self.root = (digest >> 32) as u32;
        self.has_parts = true;
        self
    }

    /// Appends it for other processes, as the call of a rank: first what is the same on all ranks.
    pub(crate) fn write(&self, rank: usize, to: &mut Vec<u8>) {
        let begin = to.len();
        put_text(to, self.name);
        put_text(to, (self.type_name)());
        put_number(to, self.length);
        put_number(to, u64::from(self.has_parts) << 32 | u64::from(self.root));
        put_number(to, (to.len() - begin) as u64);
        put_text(to, self.location.file());
        let place = u64::from(self.location.line()) << 32 | u64::from(self.location.column());
        put_number(to, place);
        put_number(to, rank as u64);
    }

    /// Whether it is the same call, from the same place.
    pub(crate) fn is(&self, other: &RankCall) -> bool {
        std::ptr::eq(self.location, other.location)
            && std::ptr::fn_addr_eq(self.type_name, other.type_name)
            && (self.name, self.length, self.root) == (other.name, other.length, other.root)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.location
    }

    pub(crate) fn operation(&self) -> WaitOperation {
        operation(self.name, self.shown_root())
    }

    /// The same of a call that was started, which waits for others that were.
    pub(crate) fn started_operation(&self) -> WaitOperation {
        operation(started_name(self.name), self.shown_root())
    }

    fn shown_root(&self) -> u32 {
        if self.has_parts { NONE } else { self.root }
    }

    fn described(&self) -> Described<'static> {
        Described {
            operation: self.operation(),
            site: self.location.into(),
            type_name: (self.type_name)(),
            length: self.length,
            parts: self.has_parts.then_some(self.root),
        }
    }
}

/// What a started call is called where a rank waits for it.
pub(crate) fn started_name(name: &str) -> &'static str {
    known(&format!("started {name}"))
}

fn operation(name: &'static str, root: u32) -> WaitOperation {
    WaitOperation::Collective {
        name,
        root: (root != NONE).then_some(root as usize),
    }
}

/// A rank's call that came from another process, or went there.
#[derive(Debug)]
pub(crate) struct WrittenCall<'a> {
    rank: usize,
    /// What is the same on all ranks: name, type, length and root.
    common: &'a [u8],
    file: &'a [u8],
    place: u64,
}

impl<'a> WrittenCall<'a> {
    /// Reads what [`RankCall::write`] has appended off the end.
    pub(crate) fn read(bytes: &mut Tail<'a>) -> Option<Self> {
        Some(WrittenCall {
            rank: usize::try_from(bytes.number()?).ok()?,
            place: bytes.number()?,
            file: bytes.bytes()?,
            common: bytes.bytes()?,
        })
    }

    /// Checks that the ranks have called the same with the same.
    #[inline]
    pub(crate) fn compare(&self, other: &WrittenCall<'_>) -> Result<(), Box<CommError>> {
        if self.common == other.common {
            return Ok(());
        }
        let ranks = [self.rank, other.rank];
        self.described().compare(ranks, &other.described())
    }

    #[cold]
    fn described(&self) -> Described<'a> {
        let mut common = Tail(self.common);
        let root = common.number().unwrap_or(u64::from(NONE));
        let (length, type_name) = (common.number(), common.text());
        let name = common.text().map_or("a collective", known);
        let file = known(&String::from_utf8_lossy(self.file));
        Described {
            operation: operation(name, u32::try_from(root).unwrap_or(NONE)),
            site: CallSite::new(file, (self.place >> 32) as u32, self.place as u32),
            type_name: type_name.unwrap_or("a type without a name"),
            length: length.unwrap_or(ANY_LENGTH),
            // Where there are parts there is no root.
            parts: (root > u64::from(u32::MAX)).then_some(root as u32),
        }
    }
}

/// A call of this process or another, in words.
#[derive(Debug)]
struct Described<'a> {
    operation: WaitOperation,
    site: CallSite,
    type_name: &'a str,
    length: u64,
    parts: Option<u32>,
}

impl Described<'_> {
    fn by(&self, rank: usize) -> String {
        format!("rank {rank} calls {} at {}", self.operation, self.site)
    }

    fn mismatch(
        ranks: [usize; 2],
        both: [&Described<'_>; 2],
        details: impl Fn(&Described<'_>) -> String,
    ) -> Box<CommError> {
        let [one, other] = [0, 1].map(|i| both[i].by(ranks[i]) + &details(both[i]));
        Box::new(CommError::Mismatch { one, other })
    }

    /// Says that two ranks have called different things, if they have.
    fn differs(&self, ranks: [usize; 2], other: &Described<'_>) -> Option<Box<CommError>> {
        let both = [self, other];
        if self.operation != other.operation {
            return Some(Described::mismatch(ranks, both, |_| String::new()));
        }
        if self.length != other.length {
            return Some(Described::mismatch(ranks, both, |call| {
                format!(" with {} elements", call.length)
            }));
        }
        (self.parts != other.parts)
            .then(|| Described::mismatch(ranks, both, |_| " in parts of other lengths".to_owned()))
    }

    fn other_type(&self, ranks: [usize; 2], other: &Described<'_>) -> Box<CommError> {
        Described::mismatch(ranks, [self, other], |call| {
            format!(" with a value of type {}", call.type_name)
        })
    }

    fn compare(&self, ranks: [usize; 2], other: &Described<'_>) -> Result<(), Box<CommError>> {
        match self.differs(ranks, other) {
            Some(mismatch) => Err(mismatch),
            None if self.type_name != other.type_name => Err(self.other_type(ranks, other)),
            None => Ok(()),
        }
    }
}

/// Says that two ranks have called different things, if they have. (That they have brought
/// different types shows when the values are combined.)
#[inline]
pub(crate) fn mismatch(
    ranks: [usize; 2],
    one: &RankCall,
    other: &RankCall,
) -> Option<Box<CommError>> {
    if (one.name, one.root, one.length) == (other.name, other.root, other.length) {
        return None;
    }
    one.described().differs(ranks, &other.described())
}

/// Says that two ranks have brought values of different types.
#[cold]
pub(crate) fn other_type(ranks: [usize; 2], one: &RankCall, other: &RankCall) -> Box<CommError> {
    one.described().other_type(ranks, &other.described())
}
