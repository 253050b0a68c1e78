//! Collectives: of bytes, and of numbers that are reduced.

use super::calls::{Call, call};
use super::comm::{here, rank};
use crate::error::{Code, Failure};
use crate::numbers::{Op, ReducedNumber};
use crate::rank::Comm;
use std::ffi::{c_int, c_void};

/// Waits for all ranks.
///
/// # Safety
/// As the header says, which holds for all functions here.
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_barrier(comm: *const Comm) -> Code {
    call("motet_barrier", |call| {
        // SAFETY: as the caller promises.
        let comm = unsafe { here(call, comm) }?;
        comm.rank.wait(async { comm.comm.barrier().await })
    })
}

/// Gives all ranks the bytes of the root.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_bcast(
    comm: *const Comm,
    data: *mut c_void,
    size: usize,
    root: c_int,
) -> Code {
    call("motet_bcast", |call| {
        // SAFETY: as the caller promises.
        let (comm, data) = unsafe { (here(call, comm)?, call.room(data, size, "data")?) };
        let root = rank(root, "root")?;
        comm.rank
            .wait(async { comm.comm.broadcast_into(root, data).await })
    })
}

/// Gives the root the bytes of all ranks, in their order.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_gather(
    comm: *const Comm,
    data: *const c_void,
    size: usize,
    all: *mut c_void,
    root: c_int,
) -> Code {
    call("motet_gather", |call| {
        // SAFETY: as the caller promises.
        let (comm, data) = unsafe { (here(call, comm)?, call.bytes(data, size, "data")?) };
        let root = rank(root, "root")?;
        let whole = of_root(comm, root, size)?;
        // SAFETY: as the caller promises.
        let all = unsafe { call.room(all, whole, "all") }?;
        comm.rank
            .wait(async { comm.comm.gather_into(root, data, all).await })
    })
}

/// Gives each rank the bytes of all, in their order.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_allgather(
    comm: *const Comm,
    data: *const c_void,
    size: usize,
    all: *mut c_void,
) -> Code {
    call("motet_allgather", |call| {
        // SAFETY: as the caller promises.
        let (comm, data) = unsafe { (here(call, comm)?, call.bytes(data, size, "data")?) };
        let whole = whole(comm, size)?;
        // SAFETY: as the caller promises.
        let all = unsafe { call.room(all, whole, "all") }?;
        comm.rank
            .wait(async { comm.comm.allgather_into(data, all).await })
    })
}

/// Gives each rank its part of the root's bytes.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_scatter(
    comm: *const Comm,
    all: *const c_void,
    part: *mut c_void,
    size: usize,
    root: c_int,
) -> Code {
    call("motet_scatter", |call| {
        // SAFETY: as the caller promises.
        let (comm, part) = unsafe { (here(call, comm)?, call.room(part, size, "part")?) };
        let root = rank(root, "root")?;
        let whole = of_root(comm, root, size)?;
        // SAFETY: as the caller promises.
        let all = unsafe { call.bytes(all, whole, "all") }?;
        comm.rank
            .wait(async { comm.comm.scatter_into(root, all, part).await })
    })
}

/// Gives each rank a part of the bytes of each.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_alltoall(
    comm: *const Comm,
    data: *const c_void,
    size: usize,
    came: *mut c_void,
) -> Code {
    call("motet_alltoall", |call| {
        // SAFETY: as the caller promises.
        let comm = unsafe { here(call, comm) }?;
        let whole = whole(comm, size)?;
        // SAFETY: as the caller promises.
        let (data, came) = unsafe {
            (
                call.bytes(data, whole, "data")?,
                call.room(came, whole, "came")?,
            )
        };
        comm.rank
            .wait(async { comm.comm.alltoall_into(data, came).await })
    })
}

/// The size of all ranks' parts.
fn whole(comm: &Comm, size: usize) -> Result<usize, Failure> {
    let whole = size.checked_mul(comm.comm.size());
    whole.ok_or_else(|| Failure::argument(format!("`size` is {size}, more than memory has")))
}

/// The size of all ranks' parts on the root; other ranks have none.
fn of_root(comm: &Comm, root: usize, size: usize) -> Result<usize, Failure> {
    match comm.comm.rank() == root {
        true => whole(comm, size),
        false => Ok(0),
    }
}

/// Combines the numbers of all ranks, place by place, on the root.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_reduce(
    comm: *const Comm,
    numbers: *const c_void,
    totals: *mut c_void,
    count: usize,
    kind: c_int,
    op: c_int,
    root: c_int,
) -> Code {
    call("motet_reduce", |call| {
        let to = To::Root(rank(root, "root")?);
        // SAFETY: as the caller promises.
        unsafe { reduce(call, comm, (numbers, totals, count), (kind, op), to) }
    })
}

/// Combines the numbers of all ranks, place by place, on all of them.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_allreduce(
    comm: *const Comm,
    numbers: *const c_void,
    totals: *mut c_void,
    count: usize,
    kind: c_int,
    op: c_int,
) -> Code {
    call("motet_allreduce", |call| {
        // SAFETY: as the caller promises.
        unsafe { reduce(call, comm, (numbers, totals, count), (kind, op), To::All) }
    })
}

/// Combines the numbers of this rank and of those before it, place by place.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_scan(
    comm: *const Comm,
    numbers: *const c_void,
    totals: *mut c_void,
    count: usize,
    kind: c_int,
    op: c_int,
) -> Code {
    call("motet_scan", |call| {
        // SAFETY: as the caller promises.
        unsafe { reduce(call, comm, (numbers, totals, count), (kind, op), To::Scan) }
    })
}

/// Combines the numbers of the ranks before this one, place by place.
///
/// # Safety
/// As [`motet_barrier`].
#[unsafe(no_mangle)]
unsafe extern "C" fn motet_exscan(
    comm: *const Comm,
    numbers: *const c_void,
    totals: *mut c_void,
    count: usize,
    kind: c_int,
    op: c_int,
) -> Code {
    call("motet_exscan", |call| {
        // SAFETY: as the caller promises.
        unsafe { reduce(call, comm, (numbers, totals, count), (kind, op), To::Exscan) }
    })
}

/// Who gets which totals.
#[derive(Debug, Clone, Copy)]
enum To {
    Root(usize),
    All,
    /// Each rank those of the ranks up to it.
    Scan,
    /// Each rank those of the ranks before it.
    Exscan,
}

/// What is combined, where the totals go, and how many there are.
type Numbers = (*const c_void, *mut c_void, usize);

/// # Safety
/// As [`motet_barrier`].
unsafe fn reduce(
    call: Call,
    comm: *const Comm,
    numbers: Numbers,
    (kind, op): (c_int, c_int),
    to: To,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let comm = unsafe { here(call, comm) }?;
    let op = Op::of(op).ok_or_else(|| {
        Failure::argument(format!("`op` is {op}, no motet_op: use one of 0 to 3"))
    })?;
    // SAFETY: as the caller promises; any bytes are such a number.
    unsafe {
        match kind {
            0 => reduce_of::<i32>(call, comm, numbers, op, to),
            1 => reduce_of::<i64>(call, comm, numbers, op, to),
            2 => reduce_of::<f64>(call, comm, numbers, op, to),
            other => Err(Failure::argument(format!(
                "`type` is {other}, no motet_type: use one of 0 to 2"
            ))),
        }
    }
}

/// # Safety
/// As [`motet_barrier`]; the numbers are of this type.
unsafe fn reduce_of<T: ReducedNumber>(
    call: Call,
    comm: &Comm,
    (numbers, totals, count): Numbers,
    op: Op,
    to: To,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises; they are read before the totals are made.
    let given: &[T] = unsafe { call.numbers(numbers, count, "numbers") }?;
    let is_given = match to {
        To::Root(root) => root == comm.comm.rank(),
        To::All | To::Scan | To::Exscan => true,
    };
    let room = if is_given { count } else { 0 };
    // The totals may lie where the numbers are.
    let own: Vec<T>;
    let bytes = count * size_of::<T>();
    let overlap = numbers.addr() < totals.addr() + bytes && totals.addr() < numbers.addr() + bytes;
    let given = match is_given && overlap {
        true => {
            own = given.to_vec();
            &own
        }
        false => given,
    };
    // SAFETY: as the caller promises; no slice of the caller's memory overlaps with it.
    let totals: &mut [T] = unsafe { call.numbers_mut(totals, room, "totals") }?;
    let (rank, comm, op) = (&comm.rank, &comm.comm, T::combine(op));
    match to {
        To::Root(root) => rank.wait(async { comm.reduce_into(root, given, totals, op).await }),
        To::All => rank.wait(async { comm.allreduce_into(given, totals, op).await }),
        To::Scan => rank.wait(async { comm.scan_into(given, totals, op).await }),
        To::Exscan => rank.wait(async { comm.exscan_into(given, totals, op).await }),
    }
}
