//! Tasks that call a closure.

use crate::task::TaskBody;
use crate::{Causalities, Task, TaskBox};

impl Task {
    /// A task that calls `work` once.
    ///
    /// ```
    /// use motet_dispatch::{Enqueue, Inline, Task};
    ///
    /// let (tell, told) = std::sync::mpsc::channel();
    /// Inline::new("here").enqueue(Task::new(move || tell.send(7).unwrap())).unwrap();
    /// assert_eq!(told.recv(), Ok(7));
    /// ```
    pub fn new(work: impl FnOnce() + Send + 'static) -> Self {
        TaskBox::new(Call(work)).into_task()
    }

    /// A task that calls `work` once, under `causalities` instead of those that are active now.
    pub fn under(causalities: Causalities, work: impl FnOnce() + Send + 'static) -> Self {
        TaskBox::under(causalities, Call(work)).into_task()
    }
}

/// The body of [`Task::new`].
struct Call<F>(F);

impl<F: FnOnce() + Send + 'static> TaskBody for Call<F> {
    fn run(task: TaskBox<Self>) {
        (task.into_inner().0)();
    }

    fn name(&self) -> &'static str {
        std::any::type_name::<F>()
    }
}
