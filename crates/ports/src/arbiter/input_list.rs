//! Inputs of one type: any number of them, or one alone.

use super::any_input::AnyInput;
use super::join_core::{InputReceiver, Inputs};
use super::join_gate::TakeRefusal;
use super::join_input::{Attempt, Input, Planned, Rule, UnlockedPort};
use motet_dispatch::Causalities;
use motet_sync::FirstPanic;

/// One input.
pub(super) struct OneInput<R: Rule>(pub(super) Input<R>);

/// Any number of inputs.
pub(super) struct InputList<R: Rule>(pub(super) Vec<Input<R>>);

impl<R: Rule> Inputs for OneInput<R> {
    type Items = R::Given;
    type Taken = R::Taken;

    fn count(&self) -> usize {
        1
    }

    fn input(&self, _at: usize) -> &dyn AnyInput<InputReceiver<Self>> {
        &self.0
    }

    #[inline]
    fn attempt<M>(
        &self,
        attempt: &mut Attempt<'_>,
        make: impl FnOnce(R::Taken) -> M,
    ) -> Result<M, TakeRefusal> {
        // Its one port is the caller's.
        let mut planned = Planned::nothing();
        self.0.plan(0, &None, attempt, &mut planned)?;
        attempt.decide()?;
        Ok(make(self.0.take(&mut planned, attempt)))
    }

    #[inline]
    fn give(taken: R::Taken) -> R::Given {
        R::give(taken)
    }

    #[inline]
    fn causalities(taken: &R::Taken) -> Causalities {
        R::causalities(taken)
    }

    fn put_back(&self, taken: R::Taken, skipped: bool) {
        self.0.put_back(taken, skipped);
    }
}

impl<R: Rule> InputList<R> {
    /// Whether anything is missing, before many ports are locked together. It looks from the
    /// caller's input on, since that is where something was missing before. So the items of a long
    /// row cost one look each on the average, not one at each port.
    fn look(&self, attempt: &mut Attempt<'_>) -> Result<(), TakeRefusal> {
        let (before, after) = (0..attempt.at(), attempt.at()..self.0.len());
        after
            .chain(before)
            .try_for_each(|at| self.0[at].look(at, attempt))
    }

    /// Takes from all ports, all locked.
    fn take(
        &self,
        held: &[UnlockedPort<R::Item>],
        attempt: &mut Attempt<'_>,
    ) -> Result<Vec<R::Taken>, TakeRefusal> {
        let mut planned: Vec<_> = held.iter().map(|_| Planned::nothing()).collect();
        let inputs = self.0.iter().zip(held).zip(&mut planned).enumerate();
        for (at, ((input, held), planned)) in inputs {
            input.plan(at, held, attempt, planned)?;
        }
        attempt.decide()?;
        let inputs = self.0.iter().zip(&mut planned);
        Ok(inputs
            .map(|(input, planned)| input.take(planned, attempt))
            .collect())
    }
}

impl<R: Rule> Inputs for InputList<R> {
    type Items = Vec<R::Given>;
    type Taken = Vec<R::Taken>;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn input(&self, at: usize) -> &dyn AnyInput<InputReceiver<Self>> {
        &self.0[at]
    }

    fn attempt<M>(
        &self,
        attempt: &mut Attempt<'_>,
        make: impl FnOnce(Vec<R::Taken>) -> M,
    ) -> Result<M, TakeRefusal> {
        self.look(attempt)?;
        let mut held = Vec::with_capacity(self.0.len());
        let mut all = Ok(());
        for (at, input) in self.0.iter().enumerate() {
            match input.hold(at, attempt) {
                Ok(port) => held.push(port),
                Err(stop) => all = Err(stop),
            }
        }
        let taken = all.and_then(|()| self.take(&held, attempt));
        held.into_iter().for_each(|held| attempt.let_go(held));
        taken.map(make)
    }

    fn give(taken: Vec<R::Taken>) -> Vec<R::Given> {
        taken.into_iter().map(R::give).collect()
    }

    fn causalities(taken: &Vec<R::Taken>) -> Causalities {
        let each = taken.iter().map(R::causalities);
        each.fold(Causalities::none(), |all, more| all.union(&more))
    }

    fn put_back(&self, taken: Vec<R::Taken>, skipped: bool) {
        let mut panics = FirstPanic::default();
        for (input, taken) in self.0.iter().zip(taken) {
            panics.catch(|| input.put_back(taken, skipped));
        }
        panics.resume();
    }
}
