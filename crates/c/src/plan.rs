//! Arbiters that have been built: which kind is known at run time only.

use crate::error::{Code, Failure};
use crate::foreign::AlignedBytes;
use motet::ports::{Activation, Active, Attach, Outlet};
use motet::{
    ActiveInterleave, After, Choice, DispatcherQueue, Interleave, MultiplePortReceive, Receive,
};
use motet_sync::Mutex;
use std::mem;
use std::sync::Arc;

/// An arbiter that is not at work yet. Each is attached once.
pub(crate) enum ArbiterPlan {
    Receive(Receive<AlignedBytes>),
    Join(MultiplePortReceive<AlignedBytes>),
    After(After),
    Choice(Choice<Vec<ArbiterPlan>>),
}

impl Attach for ArbiterPlan {
    type Ports = Box<dyn Send>;

    fn attach(self, outlet: Outlet) -> (Arc<dyn Active>, Box<dyn Send>) {
        fn kept<A: Attach>(of: A, outlet: Outlet) -> (Arc<dyn Active>, Box<dyn Send>) {
            let (arbiter, ports) = of.attach(outlet);
            (arbiter, Box::new(ports))
        }
        match self {
            ArbiterPlan::Receive(receive) => kept(receive, outlet),
            ArbiterPlan::Join(join) => kept(join, outlet),
            ArbiterPlan::After(after) => kept(after, outlet),
            ArbiterPlan::Choice(choice) => kept(choice, outlet),
        }
    }

    fn is_once(&self) -> bool {
        match self {
            ArbiterPlan::Receive(receive) => receive.is_once(),
            ArbiterPlan::Join(join) => join.is_once(),
            ArbiterPlan::After(_) | ArbiterPlan::Choice(_) => true,
        }
    }
}

/// `motet_arbiter`: an arbiter, from its making to its end.
pub(crate) struct Arbiter(Mutex<State>);

enum State {
    Built(ArbiterPlan),
    Active(Activation),
    /// It is a part of another, or could not be activated.
    Gone,
}

impl Arbiter {
    pub(crate) fn new(plan: ArbiterPlan) -> Arbiter {
        Arbiter(Mutex::new(State::Built(plan)))
    }

    /// Puts it to work.
    pub(crate) fn activate(&self, queue: &DispatcherQueue) -> Result<(), Failure> {
        // Locked meanwhile: who deactivates it finds it at work.
        let mut state = self.0.lock();
        let plan = take(&mut state)?;
        *state = State::Active(Attach::activate(plan, queue)?);
        Ok(())
    }

    /// Takes it off its ports.
    pub(crate) fn deactivate(&self) -> Result<(), Failure> {
        match &*self.0.lock() {
            State::Active(activation) => {
                activation.cleanup();
                Ok(())
            }
            State::Built(_) => Err(Failure::argument(
                "the arbiter is not at work; call motet_arbiter_activate first",
            )),
            State::Gone => Err(used()),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(&*self.0.lock(), State::Active(activation) if activation.is_active())
    }

    /// The plan, for another arbiter that it becomes a part of.
    pub(crate) fn take(&self) -> Result<ArbiterPlan, Failure> {
        take(&mut self.0.lock())
    }

    /// As [`Arbiter::take`], if it takes items once.
    pub(crate) fn take_once(&self, of: &str) -> Result<ArbiterPlan, Failure> {
        let mut state = self.0.lock();
        match &*state {
            State::Built(plan) if !plan.is_once() => Err(Failure::argument(format!(
                "a part of {of} takes items once: make it with `once` 1"
            ))),
            _ => take(&mut state),
        }
    }

    /// Gives a plan back that has found no place in another.
    pub(crate) fn put_back(&self, plan: ArbiterPlan) {
        *self.0.lock() = State::Built(plan);
    }
}

fn take(state: &mut State) -> Result<ArbiterPlan, Failure> {
    match mem::replace(state, State::Gone) {
        State::Built(plan) => Ok(plan),
        other => {
            *state = other;
            Err(used())
        }
    }
}

fn used() -> Failure {
    Failure::new(
        Code::Used,
        "the arbiter is at work already, or is a part of another; make a new one",
    )
}

/// `motet_interleave`: an interleave, from its making to its end.
pub(crate) struct Interleaved(Mutex<Stage>);

enum Stage {
    Built(Interleave),
    Active(ActiveInterleave),
    Gone,
}

/// What a part of an interleave is.
#[derive(Clone, Copy)]
pub(crate) enum InterleaveGroup {
    Concurrent,
    Exclusive,
    Teardown,
}

impl Interleaved {
    pub(crate) fn new() -> Interleaved {
        Interleaved(Mutex::new(Stage::Built(Interleave::new())))
    }

    /// Adds a part.
    pub(crate) fn add(&self, group: InterleaveGroup, arbiter: &Arbiter) -> Result<(), Failure> {
        let mut stage = self.0.lock();
        if !matches!(*stage, Stage::Built(_)) {
            return Err(at_work());
        }
        let plan = match group {
            InterleaveGroup::Teardown => arbiter.take_once("the teardown group")?,
            InterleaveGroup::Concurrent | InterleaveGroup::Exclusive => arbiter.take()?,
        };
        if let Stage::Built(built) = mem::replace(&mut *stage, Stage::Gone) {
            *stage = Stage::Built(match group {
                InterleaveGroup::Concurrent => built.concurrent(plan),
                InterleaveGroup::Exclusive => built.exclusive(plan),
                InterleaveGroup::Teardown => built.teardown(plan),
            });
        }
        Ok(())
    }

    /// Puts it to work.
    pub(crate) fn activate(&self, queue: &DispatcherQueue) -> Result<(), Failure> {
        let mut stage = self.0.lock();
        match mem::replace(&mut *stage, Stage::Gone) {
            Stage::Built(built) => {
                *stage = Stage::Active(built.activate(queue)?);
                Ok(())
            }
            other => {
                *stage = other;
                Err(at_work())
            }
        }
    }

    /// Takes its parts off their ports.
    pub(crate) fn deactivate(&self) -> Result<(), Failure> {
        match &*self.0.lock() {
            Stage::Active(active) => {
                active.cleanup();
                Ok(())
            }
            Stage::Built(_) | Stage::Gone => Err(Failure::argument(
                "the interleave is not at work; call motet_interleave_activate first",
            )),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(&*self.0.lock(), Stage::Active(active) if active.is_active())
    }
}

fn at_work() -> Failure {
    Failure::new(
        Code::Used,
        "the interleave is at work already, or could not be put to work; make a new one",
    )
}
