//! The task of a join: items on their way to its handler.

use super::{Inputs, JoinCore};
use crate::delivery::SentBy;
use motet_dispatch::{Task, TaskBody, TaskBox};
use std::sync::Arc;

/// Items on their way.
pub(super) struct Joined<S: Inputs> {
    taken: S::Taken,
    to: SentBy<JoinCore<S>>,
}

impl<S: Inputs> Joined<S> {
    #[inline]
    pub(super) fn task(taken: S::Taken, core: &Arc<JoinCore<S>>) -> Task {
        let causalities = S::causalities(&taken);
        let joined = || Joined {
            taken,
            to: SentBy::new(Arc::clone(core)),
        };
        TaskBox::build(causalities, joined).into_task()
    }
}

impl<S: Inputs> TaskBody for Joined<S> {
    fn name(&self) -> &'static str {
        self.to.handler.name()
    }

    fn run(task: TaskBox<Self>) {
        let Joined { taken, to } = task.into_inner();
        let to = to.arrived();
        let held = |taken| {
            let to = SentBy::new(Arc::clone(&to));
            TaskBox::new(Joined { taken, to }).into_task()
        };
        if let Some((taken, pass)) = to.outlet().enter(taken, held) {
            let queue = to.outlet().queue();
            to.handler.handle(S::give(taken), queue, pass);
        }
    }

    fn cleanup(task: TaskBox<Self>) {
        let Joined { taken, to } = task.into_inner();
        to.inputs.put_back(taken, false);
    }

    fn skip(task: TaskBox<Self>) {
        let Joined { taken, to } = task.into_inner();
        to.inputs.put_back(taken, true);
    }
}
