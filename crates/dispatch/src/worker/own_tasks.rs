//! Which task a worker runs next.

use super::Worker;
use crate::Task;
use crate::local::LocalQueue;
use std::cell::Ref;
use std::sync::Arc;

impl Worker {
    /// The next task of this worker's own: one of each queue in turn.
    #[inline]
    pub(super) fn pop(&self) -> Option<(usize, Task)> {
        let locals = self.locals.borrow();
        let slot = self.slot_after(self.cursor.get(), locals.len());
        if let Some(local) = locals.get(slot)
            && local.queue.runs()
            && let Some(task) = local.pop_in_turn()
        {
            return Some(self.took(locals, slot, task));
        }
        drop(locals);
        self.pop_somewhere()
    }

    #[inline]
    fn slot_after(&self, slot: usize, slots: usize) -> usize {
        if slot + 1 < slots { slot + 1 } else { 0 }
    }

    /// As [`Worker::pop`], where the next task may be any.
    #[inline(never)]
    fn pop_somewhere(&self) -> Option<(usize, Task)> {
        let locals = self.locals.borrow();
        let mut slot = self.cursor.get();
        for _ in 0..locals.len() {
            slot = self.slot_after(slot, locals.len());
            let local = &locals[slot];
            if !local.queue.runs() {
                continue;
            }
            if let Some(task) = local.pop() {
                return Some(self.took(locals, slot, task));
            }
        }
        None
    }

    /// A task of that queue has been taken: its turn is over, and its room is free.
    #[inline]
    pub(super) fn took(
        &self,
        locals: Ref<'_, Vec<LocalQueue>>,
        slot: usize,
        task: Task,
    ) -> (usize, Task) {
        self.cursor.set(slot);
        if locals[slot].queue.taken(self.index) {
            drop(locals);
            self.serve(slot);
        }
        (slot, task)
    }

    /// Somebody waits for the room of a task that has been taken.
    #[cold]
    fn serve(&self, slot: usize) {
        let queue = Arc::clone(&self.locals.borrow()[slot].queue);
        if let Some(line) = queue.line() {
            line.serve();
        }
    }
}
