//! Lists of tasks, linked through the tasks' own nodes: they allocate nothing.
//!
//! [`TaskList`] holds tasks of any kind, [`BoxList`] tasks whose body is known, so that it can be
//! looked at while it waits (a port's items).

use crate::Causalities;
use crate::drops::drop_each;
use crate::task::{Task, TaskBody, TaskBox, TaskHeader, TaskNode};
use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// A first-in first-out list of tasks of any kind.
#[derive(Default)]
pub struct TaskList(Links);

/// A first-in first-out list of tasks whose body is `R`.
pub struct BoxList<R: TaskBody> {
    links: Links,
    owns: PhantomData<TaskNode<R>>,
}

/// The nodes of a list, which owns them all.
struct Links {
    head: *mut TaskHeader,
    tail: *mut TaskHeader,
    /// The node inserted last, null once any node has left.
    inserted: *mut TaskHeader,
    len: usize,
}

impl TaskList {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        TaskList::default()
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there is no task.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.head.is_null()
    }

    /// Appends a task.
    #[inline]
    pub fn push_back(&mut self, task: Task) {
        self.0.push_back(task.into_header());
    }

    /// Puts a task before all others.
    #[inline]
    pub fn push_front(&mut self, task: Task) {
        self.0.push_front(task.into_header());
    }

    /// Takes the oldest task.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Task> {
        // SAFETY: the list owned the node.
        self.0
            .pop_front()
            .map(|node| unsafe { Task::from_header(node) })
    }

    /// Moves all tasks of `later` behind the tasks of this list.
    pub fn append(&mut self, mut later: TaskList) {
        self.0.append(&mut later.0);
    }
}

impl<R: TaskBody> BoxList<R> {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        BoxList {
            links: Links::default(),
            owns: PhantomData,
        }
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.links.len
    }

    /// Whether there is no task.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.head.is_null()
    }

    /// Appends a task.
    #[inline]
    pub fn push_back(&mut self, task: TaskBox<R>) {
        self.links.push_back(task.into_task().into_header());
    }

    /// Puts a task before all others.
    #[inline]
    pub fn push_front(&mut self, task: TaskBox<R>) {
        self.links.push_front(task.into_task().into_header());
    }

    /// Puts a task where it belongs in a list that is in order: behind those that `goes_before`
    /// says come before it. Tasks that come in their order, or in the opposite one, take no time to
    /// speak of.
    pub fn insert(&mut self, task: TaskBox<R>, goes_before: impl Fn(&R, &R) -> bool) {
        let before = |node: NonNull<TaskHeader>| {
            // SAFETY: the list owns its nodes, all with body R.
            let body = unsafe { &node.cast::<TaskNode<R>>().as_ref().body };
            goes_before(body, &task)
        };
        let mut after: *mut TaskHeader = ptr::null_mut();
        for near in [self.links.tail, self.links.inserted] {
            if after.is_null() && NonNull::new(near).is_some_and(before) {
                after = near;
            }
        }
        loop {
            let next = match NonNull::new(after) {
                None => self.links.head,
                // SAFETY: the list owns the node.
                Some(after) => unsafe { after.as_ref() }.next(),
            };
            if !NonNull::new(next).is_some_and(before) {
                break;
            }
            after = next;
        }
        self.links
            .insert_after(after, task.into_task().into_header());
    }

    /// Takes the oldest task.
    #[inline]
    pub fn pop_front(&mut self) -> Option<TaskBox<R>> {
        // SAFETY: only nodes with body R enter this list, and it owned the node.
        self.links
            .pop_front()
            .map(|node| unsafe { TaskBox::from_header(node) })
    }

    /// Moves all tasks of `later` behind the tasks of this list.
    pub fn append(&mut self, mut later: BoxList<R>) {
        self.links.append(&mut later.links);
    }

    /// The bodies, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        let mut at = self.links.head;
        std::iter::from_fn(move || {
            let node = NonNull::new(at)?;
            // SAFETY: the list owns its nodes, all with body R, and stays borrowed while the
            // iterator lives.
            unsafe {
                at = node.as_ref().next();
                Some(&node.cast::<TaskNode<R>>().as_ref().body)
            }
        })
    }

    /// What the tasks run under, each causality once.
    #[inline]
    #[must_use]
    pub fn causalities(&self) -> Causalities {
        let mut union = Causalities::none();
        let mut at = self.links.head;
        while let Some(node) = NonNull::new(at) {
            // SAFETY: the list owns its nodes.
            let header = unsafe { node.as_ref() };
            // SAFETY: as above.
            unsafe { header.with_causalities(|causalities| union = union.union(causalities)) };
            at = header.next();
        }
        union
    }

    /// Takes the oldest task whose body satisfies `wanted`; the others keep their order.
    pub fn remove_first(&mut self, mut wanted: impl FnMut(&R) -> bool) -> Option<TaskBox<R>> {
        let mut before: *mut TaskHeader = ptr::null_mut();
        let mut at = self.links.head;
        while let Some(node) = NonNull::new(at) {
            // SAFETY: the list owns its nodes, all with body R.
            if wanted(unsafe { &node.cast::<TaskNode<R>>().as_ref().body }) {
                self.links.unlink(before, node);
                // SAFETY: the node was just unlinked; its ownership passes on.
                return Some(unsafe { TaskBox::from_header(node) });
            }
            before = at;
            // SAFETY: as above.
            at = unsafe { node.as_ref() }.next();
        }
        None
    }
}

impl Links {
    #[inline]
    fn push_back(&mut self, node: NonNull<TaskHeader>) {
        // SAFETY: the caller passes the ownership of `node`, and the list owns its tail.
        unsafe {
            node.as_ref().set_next(ptr::null_mut());
            match NonNull::new(self.tail) {
                None => self.head = node.as_ptr(),
                Some(tail) => tail.as_ref().set_next(node.as_ptr()),
            }
        }
        self.tail = node.as_ptr();
        self.len += 1;
    }

    #[inline]
    fn push_front(&mut self, node: NonNull<TaskHeader>) {
        // SAFETY: the caller passes the ownership of `node`.
        unsafe { node.as_ref() }.set_next(self.head);
        if self.head.is_null() {
            self.tail = node.as_ptr();
        }
        self.head = node.as_ptr();
        self.len += 1;
    }

    #[inline]
    fn pop_front(&mut self) -> Option<NonNull<TaskHeader>> {
        let node = NonNull::new(self.head)?;
        self.unlink(ptr::null_mut(), node);
        Some(node)
    }

    /// A task whose destructor panics does not keep the others.
    #[cold]
    fn drop_all(&mut self) {
        let nodes = iter::from_fn(|| self.pop_front());
        // SAFETY: the list owned the node.
        drop_each(nodes.map(|node| unsafe { Task::from_header(node) }));
    }

    fn append(&mut self, later: &mut Links) {
        let Links {
            head, tail, len, ..
        } = *ManuallyDrop::new(std::mem::take(later));
        if head.is_null() {
            return;
        }
        match NonNull::new(self.tail) {
            None => self.head = head,
            // SAFETY: the list owns its tail.
            Some(last) => unsafe { last.as_ref() }.set_next(head),
        }
        self.tail = tail;
        self.len += len;
    }

    /// Links `node` behind `after`, a node of this list, or in front of all when that is null.
    fn insert_after(&mut self, after: *mut TaskHeader, node: NonNull<TaskHeader>) {
        match NonNull::new(after) {
            None => self.push_front(node),
            Some(_) if after == self.tail => self.push_back(node),
            // SAFETY: `after` is a node of this list, and the caller passes the ownership of
            // `node`.
            Some(after) => unsafe {
                node.as_ref().set_next(after.as_ref().next());
                after.as_ref().set_next(node.as_ptr());
                self.len += 1;
            },
        }
        self.inserted = node.as_ptr();
    }

    /// Takes `node` out; `before` is the node in front of it, null when it is the head.
    #[inline]
    fn unlink(&mut self, before: *mut TaskHeader, node: NonNull<TaskHeader>) {
        // SAFETY: both are nodes of this list.
        let next = unsafe { node.as_ref() }.next();
        match NonNull::new(before) {
            None => self.head = next,
            // SAFETY: as above.
            Some(before) => unsafe { before.as_ref() }.set_next(next),
        }
        if next.is_null() {
            self.tail = before;
        }
        self.inserted = ptr::null_mut();
        self.len -= 1;
    }
}

impl Default for Links {
    fn default() -> Self {
        Links {
            head: ptr::null_mut(),
            tail: ptr::null_mut(),
            inserted: ptr::null_mut(),
            len: 0,
        }
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        if !self.head.is_null() {
            self.drop_all();
        }
    }
}

// SAFETY: a list owns its nodes as a Task owns its one, and Task is Send.
unsafe impl Send for Links {}

impl<R: TaskBody> Default for BoxList<R> {
    fn default() -> Self {
        BoxList::new()
    }
}

impl fmt::Debug for TaskList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskList")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<R: TaskBody> fmt::Debug for BoxList<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxList")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(motet_loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Number(
        u32,
        #[allow(dead_code, reason = "counts the living")] Arc<()>,
    );

    impl TaskBody for Number {
        fn run(_: TaskBox<Self>) {}
    }

    fn list_of(numbers: &[u32], alive: &Arc<()>) -> BoxList<Number> {
        let mut list = BoxList::new();
        for &n in numbers {
            list.push_back(TaskBox::new(Number(n, Arc::clone(alive))));
        }
        list
    }

    fn numbers(list: &BoxList<Number>) -> Vec<u32> {
        list.iter().map(|number| number.0).collect()
    }

    #[test]
    fn keeps_order_at_both_ends() {
        let alive = Arc::new(());
        let mut list = list_of(&[10, 20], &alive);
        list.push_front(TaskBox::new(Number(30, Arc::clone(&alive))));
        list.push_front(TaskBox::new(Number(40, Arc::clone(&alive))));
        assert_eq!(numbers(&list), [40, 30, 10, 20]);
        assert_eq!(list.pop_front().unwrap().0, 40);
        assert_eq!(list.len(), 3);
    }

    #[test]
    fn removes_from_head_middle_and_tail() {
        let alive = Arc::new(());
        for (gone, rest) in [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])] {
            let mut list = list_of(&[1, 2, 3], &alive);
            assert_eq!(list.remove_first(|n| n.0 == gone).unwrap().0, gone);
            assert!(list.remove_first(|n| n.0 == gone).is_none());
            assert_eq!(numbers(&list), rest);
            list.push_back(TaskBox::new(Number(4, Arc::clone(&alive))));
            assert_eq!(
                numbers(&list),
                [rest[0], rest[1], 4],
                "the tail is right again"
            );
        }
    }

    #[test]
    fn inserts_in_order_whatever_the_order_of_arrival() {
        let alive = Arc::new(());
        let orders: [&[u32]; 5] = [
            &[1, 2, 3, 4, 5],
            &[5, 4, 3, 2, 1],
            &[3, 1, 5, 2, 4],
            &[2, 4, 1, 5, 3],
            &[5, 1, 2, 3, 4],
        ];
        for order in orders {
            let mut list = list_of(&[], &alive);
            for &n in order {
                list.insert(TaskBox::new(Number(n, Arc::clone(&alive))), |a, b| {
                    a.0 < b.0
                });
            }
            assert_eq!(numbers(&list), [1, 2, 3, 4, 5], "{order:?}");
            // What was inserted last has gone: the next one finds its place all the same.
            while list.pop_front().is_some_and(|number| number.0 < 4) {}
            list.insert(TaskBox::new(Number(9, Arc::clone(&alive))), |a, b| {
                a.0 < b.0
            });
            list.insert(TaskBox::new(Number(7, Arc::clone(&alive))), |a, b| {
                a.0 < b.0
            });
            assert_eq!((list.len(), numbers(&list)), (3, vec![5, 7, 9]));
            list.push_back(TaskBox::new(Number(10, Arc::clone(&alive))));
            assert_eq!(numbers(&list), [5, 7, 9, 10], "the tail is right");
        }
    }

    #[test]
    fn drops_what_it_holds() {
        let alive = Arc::new(());
        let mut list = list_of(&[1, 2, 3], &alive);
        drop(list.pop_front());
        assert_eq!(Arc::strong_count(&alive), 3);
        drop(list);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
