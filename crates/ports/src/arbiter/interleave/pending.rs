//! Tasks that an interleave holds, in the order in which they came.

use crate::delivery::QueueHandle;
use motet_dispatch::{Task, TaskList};
use std::collections::VecDeque;
use std::sync::Arc;

/// A task and the queue on which it is to run.
pub(super) type Work = (QueueHandle, Task);

/// First in first out. The tasks hang in lists by their own links; only where the queue changes
/// from one task to the next does a new list begin. So it allocates nothing as long as there is one
/// queue.
#[derive(Default)]
pub(super) struct Pending {
    /// None is empty but maybe a single one.
    runs: VecDeque<(QueueHandle, TaskList)>,
    len: usize,
}

/// Whether both are the same queue.
pub(super) fn same(one: &QueueHandle, other: &QueueHandle) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn push(&mut self, queue: &QueueHandle, task: Task) {
        self.len += 1;
        if let Some((last, tasks)) = self.runs.back_mut() {
            if same(last, queue) {
                return tasks.push_back(task);
            }
            if tasks.is_empty() {
                self.runs.clear();
            }
        }
        let mut tasks = TaskList::new();
        tasks.push_back(task);
        self.runs.push_back((Arc::clone(queue), tasks));
    }

    /// The queue of the oldest task.
    pub(super) fn front(&self) -> Option<&QueueHandle> {
        let (queue, tasks) = self.runs.front()?;
        (!tasks.is_empty()).then_some(queue)
    }

    /// Takes the oldest tasks, as many as are for the same queue.
    pub(super) fn take_front(&mut self) -> TaskList {
        let taken = if self.runs.len() == 1 {
            // The handle on the queue stays for those to come.
            self.runs
                .front_mut()
                .map(|(_, tasks)| std::mem::take(tasks))
        } else {
            self.runs.pop_front().map(|(_, tasks)| tasks)
        };
        let taken = taken.unwrap_or_default();
        self.len -= taken.len();
        taken
    }

    /// Brings back what is left of tasks that were taken, for `queue`.
    pub(super) fn give_back(&mut self, queue: &QueueHandle, mut tasks: TaskList) {
        if tasks.is_empty() {
            return;
        }
        self.len += tasks.len();
        match self.runs.front_mut() {
            Some((first, others)) if same(first, queue) => {
                tasks.append(std::mem::take(others));
                *others = tasks;
            }
            Some((_, others)) if others.is_empty() => {
                self.runs.clear();
                self.runs.push_front((Arc::clone(queue), tasks));
            }
            _ => self.runs.push_front((Arc::clone(queue), tasks)),
        }
    }

    /// Takes all that are for `queue`.
    pub(super) fn withdraw(&mut self, queue: &QueueHandle) -> Vec<Task> {
        let (mut taken, mut others) = (Vec::new(), Pending::default());
        for (at, task) in std::mem::take(self) {
            if same(&at, queue) {
                taken.push(task);
            } else {
                others.push(&at, task);
            }
        }
        *self = others;
        taken
    }
}

/// The tasks with their queues, oldest first.
impl Iterator for Pending {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        loop {
            let (queue, tasks) = self.runs.front_mut()?;
            if let Some(task) = tasks.pop_front() {
                self.len -= 1;
                return Some((Arc::clone(queue), task));
            }
            self.runs.pop_front();
        }
    }
}
