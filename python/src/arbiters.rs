//! Arbiters whose handlers are written in Python.

use crate::dispatch::Queue;
use crate::errors::MotetError;
use crate::handlers::{Handler, Item, handle};
use crate::outside::Outside;
use crate::ports::{Part, Port, wants};
use crate::waiting::span;
use motet::ports::{Active, Attach, Outlet};
use motet::{
    ActiveInterleave, After, Choice, Interleave, MultipleItemReceive, MultiplePortReceive,
    QueueError, Receive,
};
use motet_sync::{Arc, Mutex};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};

/// An arbiter that has been built and is not at work yet.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Arbiter(Mutex<Option<BuiltPlan>>);

/// A plan, and the functions of Python that it keeps: alone, but for guards that a part has, too.
struct BuiltPlan {
    plan: Plan,
    functions: Vec<Handler>,
}

/// Which one. Each activates once.
enum Plan {
    Receive(Receive<Item>),
    Several(MultipleItemReceive<Item>),
    Join(MultiplePortReceive<Item>),
    JoinSeveral(MultiplePortReceive<Vec<Item>>),
    After(After),
    Choice(Choice<Vec<Plan>>),
    Interleave(Interleave),
}

impl Arbiter {
    fn new(plan: Plan, functions: Vec<Handler>) -> Arbiter {
        Arbiter(Mutex::new(Some(BuiltPlan { plan, functions })))
    }

    /// Gives up the plan, which may be the last to have a port.
    fn release(&self) {
        let built = self.0.lock().take();
        // Outside the lock: what is freed runs code of Python.
        if let Some(built) = built {
            drop(Outside::new(built));
        }
    }

    fn take(&self) -> PyResult<Plan> {
        Ok(self.take_if(|_| Ok(()))?.plan)
    }

    /// The plan, if it fits; one that does not stays.
    fn take_if(&self, fits: PlanCheck) -> PyResult<BuiltPlan> {
        let mut held = self.0.lock();
        if let Some(built) = &*held {
            fits(&built.plan)?;
        }
        held.take().ok_or_else(|| {
            PyValueError::new_err("the arbiter is at work already, or is a part of another")
        })
    }
}

/// Says why a plan does not fit where it is to go.
type PlanCheck = fn(&Plan) -> PyResult<()>;

fn is_branch(plan: &Plan) -> PyResult<()> {
    match plan.is_once() {
        true => Ok(()),
        false => Err(PyValueError::new_err(
            "a choice is among branches that take items once: write once=True",
        )),
    }
}

fn is_part(plan: &Plan) -> PyResult<()> {
    match plan {
        Plan::Interleave(_) => Err(PyValueError::new_err(
            "an interleave is no part of another arbiter",
        )),
        _ => Ok(()),
    }
}

fn is_teardown(plan: &Plan) -> PyResult<()> {
    is_part(plan)?;
    match plan.is_once() {
        true => Ok(()),
        false => Err(PyValueError::new_err(
            "a teardown takes items once: write once=True",
        )),
    }
}

fn each<'a>(
    arbiters: &'a [PyRef<'_, Arbiter>],
    fits: PlanCheck,
) -> impl Iterator<Item = (&'a Arbiter, PlanCheck)> {
    arbiters.iter().map(move |arbiter| (&**arbiter, fits))
}

/// The plans of arbiters and their functions, of all or of none.
fn taken(arbiters: &[(&Arbiter, PlanCheck)]) -> PyResult<(Vec<Plan>, Vec<Handler>)> {
    let mut plans = Vec::with_capacity(arbiters.len());
    for (arbiter, fits) in arbiters {
        match arbiter.take_if(*fits) {
            Ok(plan) => plans.push(plan),
            Err(error) => {
                for ((arbiter, _), plan) in arbiters.iter().zip(plans) {
                    *arbiter.0.lock() = Some(plan);
                }
                return Err(error);
            }
        }
    }
    let each = plans.into_iter().map(|built| (built.plan, built.functions));
    let (plans, functions): (Vec<Plan>, Vec<Vec<Handler>>) = each.unzip();
    Ok((plans, functions.into_iter().flatten().collect()))
}

impl Attach for Plan {
    type Ports = Box<dyn Send>;

    fn attach(self, outlet: Outlet) -> (std::sync::Arc<dyn Active>, Box<dyn Send>) {
        fn kept<A: Attach>(of: A, outlet: Outlet) -> (std::sync::Arc<dyn Active>, Box<dyn Send>) {
            let (arbiter, ports) = of.attach(outlet);
            (arbiter, Box::new(ports))
        }
        match self {
            Plan::Receive(receive) => kept(receive, outlet),
            Plan::Several(receive) => kept(receive, outlet),
            Plan::Join(join) => kept(join, outlet),
            Plan::JoinSeveral(join) => kept(join, outlet),
            Plan::After(after) => kept(after, outlet),
            Plan::Choice(choice) => kept(choice, outlet),
            Plan::Interleave(_) => unreachable!("an interleave is no part of another arbiter"),
        }
    }

    fn is_once(&self) -> bool {
        match self {
            Plan::Receive(receive) => receive.is_once(),
            Plan::Several(receive) => receive.is_once(),
            Plan::Join(join) => join.is_once(),
            Plan::JoinSeveral(join) => join.is_once(),
            Plan::After(_) | Plan::Choice(_) => true,
            Plan::Interleave(_) => false,
        }
    }
}

#[pymethods]
impl Arbiter {
    /// Puts it to work.
    fn activate(&self, py: Python<'_>, queue: &Queue) -> PyResult<Activation> {
        let queue = queue.open()?;
        let plan = self.take()?;
        let started = py.detach(|| -> Result<Work, QueueError> {
            Ok(match plan {
                Plan::Interleave(interleave) => Work::Interleave(interleave.activate(queue)?),
                plan => Work::Other(Attach::activate(plan, queue)?),
            })
        });
        let work = started.map_err(|error| MotetError::new_err(error.to_string()))?;
        Ok(Activation(Outside::new(work)))
    }

    /// Shows Python's garbage collector what the arbiter alone keeps. One at work keeps nothing:
    /// that is for its ports. A guard that others have is theirs as well, and is nobody's to show.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody has the lock for longer than the interpreter.
        let Some(held) = self.0.try_lock() else {
            return Ok(());
        };
        for function in held.iter().flat_map(|built| &built.functions) {
            // Here, and in the plan.
            if Arc::strong_count(function) == 2 {
                visit.call(&**function)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        self.release();
    }
}

impl Drop for Arbiter {
    fn drop(&mut self) {
        self.release();
    }
}

/// An arbiter at work, or done.
#[pyclass(frozen, module = "motet._motet")]
pub(crate) struct Activation(Outside<Work>);

enum Work {
    Other(motet::ports::Activation),
    Interleave(ActiveInterleave),
}

#[pymethods]
impl Activation {
    /// Takes it off its ports: nothing new starts.
    fn cleanup(&self, py: Python<'_>) {
        py.detach(|| match self.0.get() {
            Work::Other(activation) => activation.cleanup(),
            Work::Interleave(interleave) => interleave.cleanup(),
        });
    }

    /// Whether it can still take items.
    fn is_active(&self, py: Python<'_>) -> bool {
        py.detach(|| match self.0.get() {
            Work::Other(activation) => activation.is_active(),
            Work::Interleave(interleave) => interleave.is_active(),
        })
    }
}

/// Handles items of a port.
#[pyfunction]
pub(crate) fn receive(
    port: &Port,
    handler: Py<PyAny>,
    once: bool,
    at_most: Option<usize>,
    guard: Option<Py<PyAny>>,
) -> PyResult<Arbiter> {
    let handler: Handler = Arc::new(handler);
    let mut functions = vec![Arc::clone(&handler)];
    let run = move |item: Item| handle(Arc::clone(&handler), vec![item]);
    let mut receive = match once {
        true => Receive::once_async(port.inner(), run),
        false => Receive::persistent_async(port.inner(), run),
    };
    match at_most {
        Some(_) if once => {
            return Err(PyValueError::new_err(
                "at_most is for a receive that is not once",
            ));
        }
        Some(0) => return Err(PyValueError::new_err("at_most is at least 1")),
        Some(count) => receive = receive.at_most(count),
        None => {}
    }
    if let Some(guard) = guard {
        let guard = Arc::new(guard);
        functions.push(Arc::clone(&guard));
        receive = receive.when(wants(guard));
    }
    Ok(Arbiter::new(Plan::Receive(receive), functions))
}

/// Handles several items of a port at a time, or what is there when the time is over.
#[pyfunction]
pub(crate) fn several(
    port: &Port,
    count: usize,
    handler: Py<PyAny>,
    once: bool,
    seconds: Option<f64>,
) -> PyResult<Arbiter> {
    if count == 0 {
        return Err(PyValueError::new_err("count is at least 1"));
    }
    let handler: Handler = Arc::new(handler);
    let functions = vec![Arc::clone(&handler)];
    let run = move |items: Vec<Item>| handle(Arc::clone(&handler), listed(vec![items]));
    let mut receive = match once {
        true => MultipleItemReceive::once_async(port.inner(), count, run),
        false => MultipleItemReceive::persistent_async(port.inner(), count, run),
    };
    if let Some(seconds) = seconds {
        receive = receive.or_after(span(seconds)?);
    }
    Ok(Arbiter::new(Plan::Several(receive), functions))
}

/// Handles items of several ports together.
#[pyfunction]
pub(crate) fn join(
    parts: Vec<PyRef<'_, Part>>,
    handler: Py<PyAny>,
    once: bool,
) -> PyResult<Arbiter> {
    let mut ids: Vec<u64> = parts
        .iter()
        .map(|part| part.port.get().inner().id())
        .collect();
    ids.sort_unstable();
    if ids.is_empty() || ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(PyValueError::new_err(
            "a join names at least one port, and none twice: take several items of a port with times",
        ));
    }
    let handler: Handler = Arc::new(handler);
    let mut functions = vec![Arc::clone(&handler)];
    functions.extend(parts.iter().filter_map(|part| part.guard.clone()));
    if parts.iter().all(|part| part.count.is_none()) {
        let row: Vec<_> = parts.iter().map(|part| part.single()).collect();
        let run = move |items: Vec<Item>| handle(Arc::clone(&handler), items);
        let join = match once {
            true => MultiplePortReceive::once_async(row, run),
            false => MultiplePortReceive::persistent_async(row, run),
        };
        return Ok(Arbiter::new(Plan::Join(join), functions));
    }
    let row: Vec<_> = parts.iter().map(|part| part.batch()).collect();
    let alone: Vec<bool> = parts.iter().map(|part| part.count.is_none()).collect();
    let run = move |items: Vec<Vec<Item>>| {
        let given = items
            .into_iter()
            .zip(&alone)
            .flat_map(|(items, alone)| match alone {
                true => items,
                false => listed(vec![items]),
            });
        handle(Arc::clone(&handler), given.collect())
    };
    let join = match once {
        true => MultiplePortReceive::once_async(row, run),
        false => MultiplePortReceive::persistent_async(row, run),
    };
    Ok(Arbiter::new(Plan::JoinSeveral(join), functions))
}

/// Lists of Python.
fn listed(rows: Vec<Vec<Item>>) -> Vec<Item> {
    // Without an interpreter no handler runs.
    let made = Python::try_attach(|py| {
        let each = rows.into_iter().map(|items| {
            let list = pyo3::types::PyList::new(py, items);
            list.map(|list| list.into_any().unbind())
        });
        each.collect::<PyResult<Vec<Item>>>()
    });
    made.and_then(Result::ok).unwrap_or_default()
}

/// Handles the end of a time.
#[pyfunction]
pub(crate) fn after(seconds: f64, handler: Py<PyAny>) -> PyResult<Arbiter> {
    let handler: Handler = Arc::new(handler);
    let functions = vec![Arc::clone(&handler)];
    let run = move || handle(handler, Vec::new());
    let after = After::new_async(span(seconds)?, run);
    Ok(Arbiter::new(Plan::After(after), functions))
}

/// The first of several arbiters that can run.
#[pyfunction]
pub(crate) fn choice(branches: Vec<PyRef<'_, Arbiter>>) -> PyResult<Arbiter> {
    let branches: Vec<_> = each(&branches, is_branch).collect();
    let (plans, functions) = taken(&branches)?;
    if plans.is_empty() {
        return Err(PyValueError::new_err(
            "a choice is among one branch at least",
        ));
    }
    let choice = Plan::Choice(Choice::any(plans));
    Ok(Arbiter::new(choice, functions))
}

/// Arbiters of which some run together, some alone, and one last.
#[pyfunction]
pub(crate) fn interleave(
    concurrent: Vec<PyRef<'_, Arbiter>>,
    exclusive: Vec<PyRef<'_, Arbiter>>,
    teardown: Vec<PyRef<'_, Arbiter>>,
) -> PyResult<Arbiter> {
    let together = each(&concurrent, is_part).chain(each(&exclusive, is_part));
    let parts: Vec<_> = together.chain(each(&teardown, is_teardown)).collect();
    let (plans, functions) = taken(&parts)?;
    let mut plans = plans.into_iter();
    let mut made = Interleave::new();
    for plan in plans.by_ref().take(concurrent.len()) {
        made = made.concurrent(plan);
    }
    for plan in plans.by_ref().take(exclusive.len()) {
        made = made.exclusive(plan);
    }
    for plan in plans {
        made = made.teardown(plan);
    }
    Ok(Arbiter::new(Plan::Interleave(made), functions))
}
