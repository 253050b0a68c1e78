//! From the parts that a program names to the inputs of an arbiter: tuples of different types, rows
//! of one type.

use super::any_input::AnyInput;
use super::input_list::{InputList, OneInput};
use super::join_core::{InputReceiver, Inputs, JoinCore};
use super::join_gate::{JoinGate, TakeRefusal};
use super::join_input::{Attempt, Input, Planned, Rule};
use super::one_each::OneEach;
use super::part::{IntoPart, Part, ToInput};
use crate::activation::Active;
use crate::deferred::Keep;
use crate::handler::AnyHandler;
use crate::outlet::Outlet;
use crate::port::AnyPort;
use motet_dispatch::Causalities;
use motet_sync::FirstPanic;
use std::fmt;
use std::sync::Arc;

/// What an arbiter over several ports is made of, for handlers of `I`.
pub struct JoinInputs<I> {
    inputs: Box<dyn Assemble<I>>,
    ports: KeptPorts,
    /// How many items may wait at the ports, if they share a number.
    room: usize,
}

/// The ports of an arbiter, kept until it is registered on them.
pub(crate) type KeptPorts = Vec<Arc<dyn Keep>>;

/// What a join can be made of: a tuple of one to twelve [`IntoPart`]s.
pub trait IntoParts {
    /// What the handler gets: for each part its item, or the `Vec` of its items.
    type Items: Send + 'static;

    /// Makes the parts.
    fn into_inputs(self) -> JoinInputs<Self::Items>;
}

/// What a gather can be made of: a tuple of one to twelve ports, each with or without a guard.
pub trait IntoShares {
    /// What the handler gets: a `Vec` for each port.
    type Items: Send + 'static;

    /// Makes the parts.
    fn into_inputs(self) -> JoinInputs<Self::Items>;
}

/// What a [`MultiplePortReceive`](crate::MultiplePortReceive) can be made of: any number of
/// [`IntoPart`]s of one type.
pub trait IntoPartList {
    /// What the handler gets of each port: its item, or the `Vec` of its items.
    type Given: Send + 'static;

    /// Makes the parts.
    fn into_inputs(self) -> JoinInputs<Vec<Self::Given>>;
}

/// Inputs that are about to become an arbiter.
trait Assemble<I>: Send {
    fn assemble(
        self: Box<Self>,
        total: usize,
        handler: AnyHandler<I>,
        gate: JoinGate,
    ) -> Arc<dyn Active>;
}

impl<S: Inputs> Assemble<S::Items> for S {
    fn assemble(
        self: Box<Self>,
        total: usize,
        handler: AnyHandler<S::Items>,
        gate: JoinGate,
    ) -> Arc<dyn Active> {
        JoinCore::active(*self, total, handler, gate)
    }
}

impl<I> JoinInputs<I> {
    /// # Panics
    /// When a port is named twice.
    fn new(inputs: impl Assemble<I> + 'static, ports: Vec<Arc<dyn AnyPort>>) -> Self {
        let mut ids: Vec<u64> = ports.iter().map(|port| port.id()).collect();
        ids.sort_unstable();
        assert!(
            ids.windows(2).all(|pair| pair[0] != pair[1]),
            "an arbiter names a port twice: take several items of one port with Port::times, \
             Port::one_each or MultipleItemReceive"
        );
        JoinInputs {
            inputs: Box::new(inputs),
            ports: ports.into_iter().map(|port| port as _).collect(),
            room: usize::MAX,
        }
    }

    /// Of parts that share a number.
    fn sharing(inputs: impl Assemble<I> + 'static, ports: Vec<Arc<dyn AnyPort>>) -> Self {
        let rooms = ports.iter().map(|port| port.capacity());
        let room = rooms.fold(0, usize::saturating_add);
        let mut inputs = JoinInputs::new(inputs, ports);
        inputs.room = room;
        inputs
    }

    /// # Panics
    /// When so many items are never at the ports together: as many as may wait, and one that is
    /// posted.
    pub(super) fn assert_hold(&self, total: usize) {
        let (room, most) = (self.room, self.room.saturating_add(1));
        assert!(
            total <= most,
            "the {} ports of a gather hold {room} items at most, and {total} are wanted at once: \
             take {most} or fewer at a time, or make the ports with more room",
            self.ports()
        );
    }

    /// How many ports.
    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Of one part that is no tuple.
    pub(super) fn solo<P: ToInput>(part: P) -> Self
    where
        P::Rule: Rule<Given = I>,
        I: Send + 'static,
    {
        let ports = vec![part.port()];
        JoinInputs::new(OneInput(part.to_input()), ports)
    }

    /// An arbiter that is not registered yet, and its ports. Rules that share a number take
    /// `total`.
    pub(super) fn assemble(
        self,
        total: usize,
        handler: AnyHandler<I>,
        once: bool,
        outlet: Outlet,
    ) -> (Arc<dyn Active>, KeptPorts) {
        let gate = JoinGate::new(once, outlet);
        (self.inputs.assemble(total, handler, gate), self.ports)
    }
}

impl<I> fmt::Debug for JoinInputs<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinInputs")
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}

impl<C, P, R> IntoPartList for C
where
    C: IntoIterator<Item = P>,
    P: IntoPart,
    P::Part: ToInput<Rule = R>,
    R: Rule<Given = P::Given>,
{
    type Given = P::Given;

    fn into_inputs(self) -> JoinInputs<Vec<P::Given>> {
        let parts: Vec<_> = self.into_iter().map(IntoPart::into_part).collect();
        let ports = parts.iter().map(ToInput::port).collect();
        let inputs = parts.into_iter().map(ToInput::to_input).collect();
        JoinInputs::new(InputList(inputs), ports)
    }
}

/// Tuples of inputs, and what makes them. Each part is its type, its place and two names.
macro_rules! tuples {
    (@one $($P:ident $R:ident $at:tt $held:ident $planned:ident,)+) => {
        impl<$($R: Rule),+> Inputs for ($(Input<$R>,)+) {
            type Items = ($($R::Given,)+);
            type Taken = ($($R::Taken,)+);

            fn count(&self) -> usize {
                [$($at),+].len()
            }

            fn input(&self, at: usize) -> &dyn AnyInput<InputReceiver<Self>> {
                let inputs: [&dyn AnyInput<_>; [$($at),+].len()] = [$(&self.$at),+];
                inputs[at]
            }

            #[inline]
            fn attempt<M>(
                &self,
                attempt: &mut Attempt<'_>,
                make: impl FnOnce(Self::Taken) -> M,
            ) -> Result<M, TakeRefusal> {
                $(let mut $held = None;)+
                let all = || {
                    $(
                        $held = self.$at.hold($at, attempt)?;
                        let mut $planned = Planned::nothing();
                        self.$at.plan($at, &$held, attempt, &mut $planned)?;
                    )+
                    attempt.decide()?;
                    Ok(make(($(self.$at.take(&mut $planned, attempt),)+)))
                };
                let made = all();
                $(attempt.let_go($held);)+
                made
            }

            #[inline]
            fn take_one_each<M>(
                &self,
                mut one: OneEach<'_>,
                make: impl FnOnce(Self::Taken) -> M,
            ) -> Option<M> {
                if !($(self.$at.takes_any_one())&&+ && one.may_fire()) {
                    return None;
                }
                $(let $planned = self.$at.reach($at, &one)?;)+
                Some(make(($(self.$at.take_one($planned, &mut one),)+)))
            }

            #[inline]
            fn give(taken: Self::Taken) -> Self::Items {
                ($($R::give(taken.$at),)+)
            }

            #[inline]
            fn causalities(taken: &Self::Taken) -> Causalities {
                let all = Causalities::none();
                $(let all = all.union(&$R::causalities(&taken.$at));)+
                all
            }

            fn put_back(&self, taken: Self::Taken, skipped: bool) {
                let mut panics = FirstPanic::default();
                $(panics.catch(|| self.$at.put_back(taken.$at, skipped));)+
                panics.resume();
            }
        }

        impl<$($P, $R),+> IntoParts for ($($P,)+)
        where
            $($P: IntoPart, $P::Part: ToInput<Rule = $R>, $R: Rule<Given = $P::Given>,)+
        {
            type Items = ($($P::Given,)+);

            fn into_inputs(self) -> JoinInputs<Self::Items> {
                let parts = ($(self.$at.into_part(),)+);
                let ports = vec![$(parts.$at.port()),+];
                JoinInputs::new(($(parts.$at.to_input(),)+), ports)
            }
        }

        impl<$($P, $R: Send + 'static),+> IntoShares for ($($P,)+)
        where
            $($P: IntoPart<Part = Part<$R>>,)+
        {
            type Items = ($(Vec<$R>,)+);

            fn into_inputs(self) -> JoinInputs<Self::Items> {
                let parts = ($(self.$at.into_part().shared(),)+);
                let ports = vec![$(parts.$at.port()),+];
                JoinInputs::sharing(($(parts.$at.to_input(),)+), ports)
            }
        }
    };
    (@grow [$($done:tt)+]) => {
        tuples!(@one $($done)+);
    };
    (@grow [$($done:tt)+] $P:ident $R:ident $at:tt $held:ident $planned:ident, $($rest:tt)*) => {
        tuples!(@one $($done)+);
        tuples!(@grow [$($done)+ $P $R $at $held $planned,] $($rest)*);
    };
    ($P:ident $R:ident $at:tt $held:ident $planned:ident, $($rest:tt)*) => {
        tuples!(@grow [$P $R $at $held $planned,] $($rest)*);
    };
}

tuples! {
    P0 R0 0 held0 planned0,
    P1 R1 1 held1 planned1,
    P2 R2 2 held2 planned2,
    P3 R3 3 held3 planned3,
    P4 R4 4 held4 planned4,
    P5 R5 5 held5 planned5,
    P6 R6 6 held6 planned6,
    P7 R7 7 held7 planned7,
    P8 R8 8 held8 planned8,
    P9 R9 9 held9 planned9,
    P10 R10 10 held10 planned10,
    P11 R11 11 held11 planned11,
}
