//! What a collective does with what its ranks bring. Only the caller knows the types: everything
//! else of a collective is compiled once, not for each type and operator.

use super::any_cell::AnyCell;
use crate::Value;
use crate::wire::{adopt, decode, encode, plain_bytes};
use std::any::{TypeId, type_name};
use std::marker::PhantomData;

/// Its operators, over cells that hold values of the kind.
pub(crate) trait Operators {
    fn kind(&self) -> &'static ValueKind;

    /// Combines two neighbours' values into the first, the lower rank's.
    fn combine(&self, left: &mut AnyCell, right: &mut AnyCell);

    /// Makes the total of the combined value; called on one rank, once.
    fn finish(&mut self, combined: AnyCell) -> AnyCell;
}

/// Those of a program.
pub(crate) struct TypedOperators<V, C, F> {
    combine: C,
    finish: Option<F>,
    values: PhantomData<fn(V)>,
}

/// What is to be known of the type of what ranks bring.
pub(crate) struct ValueKind {
    pub(super) id: TypeId,
    pub(super) name: fn() -> &'static str,
    /// As in [`wire`](crate::wire), of a cell that holds such a value.
    pub(super) plain_bytes: fn(&mut AnyCell) -> Option<&[u8]>,
    pub(super) encode: fn(&mut AnyCell, &mut Vec<u8>) -> Result<(), String>,
    pub(super) decode: fn(&[u8]) -> Result<AnyCell, String>,
    /// Decodes the first so many bytes, or adopts all of them.
    pub(super) adopt: fn(&mut Vec<u8>, usize) -> Result<AnyCell, String>,
}

struct Of<V>(PhantomData<V>);

impl<V: Value> Of<V> {
    const KIND: &'static ValueKind = &ValueKind {
        id: TypeId::of::<V>(),
        name: type_name::<V>,
        plain_bytes: |cell| plain_bytes(value::<V>(cell)),
        encode: |cell, to| encode(value::<V>(cell), to),
        decode: |bytes| decode::<V>(bytes).map(AnyCell::with),
        adopt: |bytes, length| {
            let value = adopt(bytes, length).unwrap_or_else(|| decode::<V>(&bytes[..length]));
            value.map(AnyCell::with)
        },
    };
}

impl ValueKind {
    /// That of a type.
    pub(crate) fn of<V: Value>() -> &'static ValueKind {
        Of::<V>::KIND
    }
}

fn value<V: Value>(cell: &mut AnyCell) -> &mut V {
    cell.get_mut().expect("a cell holds a value of its kind")
}

impl<V, C, F> TypedOperators<V, C, F> {
    pub(crate) fn new(combine: C, finish: F) -> Self {
        TypedOperators {
            combine,
            finish: Some(finish),
            values: PhantomData,
        }
    }

    /// The total of the one rank's value.
    pub(crate) fn alone<S>(&mut self, value: V) -> S
    where
        F: FnOnce(V) -> S,
    {
        let finish = self.finish.take();
        finish.expect("a total is made once")(value)
    }
}

impl<V, S, C, F> Operators for TypedOperators<V, C, F>
where
    V: Value,
    S: Send + Sync + 'static,
    C: Fn(V, V) -> V,
    F: FnOnce(V) -> S,
{
    fn kind(&self) -> &'static ValueKind {
        ValueKind::of::<V>()
    }

    fn combine(&self, left: &mut AnyCell, right: &mut AnyCell) {
        if let (Some(one), Some(other)) = (left.take(), right.take()) {
            left.put((self.combine)(one, other));
        }
    }

    fn finish(&mut self, mut combined: AnyCell) -> AnyCell {
        let value = combined.take().expect("what was combined has its kind");
        AnyCell::with(self.alone(value))
    }
}
