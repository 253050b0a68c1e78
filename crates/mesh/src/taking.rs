//! Taking items of several ports, of this node and of others.

use crate::TakeError;
use crate::step::{StepPart, take_each, take_one};
use motet_ports::one_of::{OneOf2, OneOf3, OneOf4, OneOf5, OneOf6};

/// What one port gives to a step: references to a [`RemotePort`](crate::RemotePort) or a
/// [`Port`](motet_ports::Port) give one item, what their `times` makes gives several, as a `Vec`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` gives nothing to a step with ports of other nodes",
    note = "references to `RemotePort` and `Port` do, and what their `times` makes"
)]
pub trait TakePart {
    /// What is taken.
    type Given;
    #[doc(hidden)]
    type Step: StepPart;
    #[doc(hidden)]
    fn into_step(self) -> Self::Step;
    /// `None`: it has taken nothing.
    #[doc(hidden)]
    fn given(step: Self::Step) -> Option<Self::Given>;
}

/// Several parts on their way.
#[doc(hidden)]
pub trait IntoSteps {
    type Steps: Send;
    fn into_steps(self) -> Self::Steps;
    fn each(steps: &mut Self::Steps) -> Vec<&mut dyn StepPart>;
}

/// What [`take_all`] takes: a tuple of one to six [`TakePart`]s.
pub trait TakeParts: IntoSteps {
    /// What each of them gives.
    type Items;
    #[doc(hidden)]
    fn items(steps: Self::Steps) -> Option<Self::Items>;
}

/// What [`take_first`] chooses from: a tuple of two to six [`TakePart`]s, or a list of references
/// to ports of one kind.
pub trait TakeChoice: IntoSteps {
    /// Of a tuple what one of them gives, told by its place
    /// ([`OneOf2`] to [`OneOf6`]); of a list the index, and the item.
    type Taken;
    #[doc(hidden)]
    fn taken(steps: Self::Steps, at: usize) -> Option<Self::Taken>;
}

/// Takes what each part gives, once each port has it: all or none. While one has too little the
/// others keep their items, visible, and others may take them. Once each has it, it is reserved at
/// one port after the other. An owner that is slow to answer then holds up the items of the others,
/// for 30 s at most: then they are given back, and this begins again.
///
/// Ports of this node may take part: `&port`, or several items by
/// [`Port::times`](motet_ports::Port::times). Causalities of their items do not become active. A
/// port may have one part only: one that has two keys is not noticed, and may be asked for ever.
///
/// # Cancellation
/// Dropping the future takes nothing, unless owners are being told already that their items are
/// taken. What was taken of ports of this node goes back to their fronts in any case.
///
/// # Errors
/// [`TakeError`]. Nothing is taken then, but with the errors that say so: a link may break while
/// owners are told. Of ports of this node nothing is taken with any error.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_mesh::{LinkConfig, Node, SimulatedNetwork, take_all};
/// use motet_ports::Port;
/// use std::sync::Arc;
///
/// let replay = Replay::new(3);
/// let network = SimulatedNetwork::new(3, LinkConfig::default(), replay.clock());
/// let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
/// let node = |name| Node::join(&network.carrier(name), 1, queue(name));
/// let (store, kitchen) = (node("store"), node("kitchen"));
/// let (eggs, orders, meals) = (Port::<u32>::new(), Port::new(), Port::new());
/// let exported = store.export("eggs", &eggs)?;
/// replay.run();
///
/// let (remote, order, meal) = (kitchen.remote_port("eggs")?, orders.clone(), meals.clone());
/// spawn(&queue("cook"), async move {
///     // Two items of a port of another node, and one of a port of this node.
///     let taken: (Vec<u32>, &str) = take_all((remote.times(2), &order)).await.unwrap();
///     meal.post(taken).unwrap();
/// })?;
/// orders.post("omelette")?;
/// eggs.post(1)?;
/// replay.run();
/// assert_eq!((eggs.item_count(), orders.item_count()), (1, 1), "one egg is too few");
/// eggs.post(2)?;
/// replay.run();
/// assert_eq!(meals.test(), Some((vec![1, 2], "omelette")));
/// # drop(exported);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn take_all<P: TakeParts>(
    ports: P,
) -> impl Future<Output = Result<P::Items, TakeError>> + Send {
    let mut steps = ports.into_steps();
    async move {
        take_each(P::each(&mut steps)).await?;
        P::items(steps).ok_or(TakeError::Nothing)
    }
}

/// Takes what the first part gives whose port has it. The others keep their items. If several have
/// it at once their order decides.
///
/// # Cancellation
/// As [`take_all`].
///
/// # Errors
/// [`TakeError`], of the first port that cannot be asked.
///
/// ```
/// use motet_dispatch::{Enqueue, QueueConfig, Replay, spawn};
/// use motet_mesh::{LinkConfig, Node, SimulatedNetwork, take_first};
/// use motet_ports::Port;
/// use motet_ports::one_of::OneOf2;
/// use std::sync::Arc;
///
/// let replay = Replay::new(4);
/// let network = SimulatedNetwork::new(4, LinkConfig::default(), replay.clock());
/// let queue = |name| -> Arc<dyn Enqueue> { Arc::new(replay.queue(QueueConfig::named(name))) };
/// let node = |name| Node::join(&network.carrier(name), 1, queue(name));
/// let (owner, here) = (node("owner"), node("here"));
/// let (results, stops, told) = (Port::<u32>::new(), Port::<String>::new(), Port::new());
/// let exported = owner.export("results", &results)?;
/// replay.run();
///
/// let (result, stop, out) = (here.remote_port::<u32>("results")?, stops.clone(), told.clone());
/// spawn(&queue("waits"), async move {
///     for _ in 0..2 {
///         out.post(match take_first((&result, &stop)).await.unwrap() {
///             OneOf2::P0(number) => format!("result {number}"),
///             OneOf2::P1(why) => format!("stopped: {why}"),
///         }).unwrap();
///     }
/// })?;
/// results.post(7)?;
/// replay.run();
/// stops.post("enough".to_owned())?;
/// replay.run();
/// assert_eq!(told.items(), ["result 7", "stopped: enough"]);
/// # drop(exported);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn take_first<C: TakeChoice>(
    ports: C,
) -> impl Future<Output = Result<C::Taken, TakeError>> + Send {
    let mut steps = ports.into_steps();
    async move {
        let at = take_one(C::each(&mut steps)).await?;
        C::taken(steps, at).ok_or(TakeError::Nothing)
    }
}

macro_rules! parts {
    ($($P:ident $at:tt),+) => {
        impl<$($P: TakePart),+> IntoSteps for ($($P,)+) {
            type Steps = ($($P::Step,)+);

            fn into_steps(self) -> Self::Steps {
                ($(self.$at.into_step(),)+)
            }

            fn each(steps: &mut Self::Steps) -> Vec<&mut dyn StepPart> {
                vec![$(&mut steps.$at as &mut dyn StepPart),+]
            }
        }

        impl<$($P: TakePart),+> TakeParts for ($($P,)+) {
            type Items = ($($P::Given,)+);

            fn items(steps: Self::Steps) -> Option<Self::Items> {
                Some(($($P::given(steps.$at)?,)+))
            }
        }
    };
}

macro_rules! choices {
    ($OneOf:ident: $($P:ident $at:tt),+) => {
        impl<$($P: TakePart),+> TakeChoice for ($($P,)+) {
            type Taken = $OneOf<$($P::Given),+>;

            fn taken(steps: Self::Steps, at: usize) -> Option<Self::Taken> {
                match at {
                    $($at => $P::given(steps.$at).map($OneOf::$P),)+
                    _ => None,
                }
            }
        }
    };
}

parts!(P0 0);
parts!(P0 0, P1 1);
parts!(P0 0, P1 1, P2 2);
parts!(P0 0, P1 1, P2 2, P3 3);
parts!(P0 0, P1 1, P2 2, P3 3, P4 4);
parts!(P0 0, P1 1, P2 2, P3 3, P4 4, P5 5);
choices!(OneOf2: P0 0, P1 1);
choices!(OneOf3: P0 0, P1 1, P2 2);
choices!(OneOf4: P0 0, P1 1, P2 2, P3 3);
choices!(OneOf5: P0 0, P1 1, P2 2, P3 3, P4 4);
choices!(OneOf6: P0 0, P1 1, P2 2, P3 3, P4 4, P5 5);

impl<P: TakePart + Copy> IntoSteps for &[P] {
    type Steps = Vec<P::Step>;

    fn into_steps(self) -> Self::Steps {
        self.iter().map(|part| P::into_step(*part)).collect()
    }

    fn each(steps: &mut Self::Steps) -> Vec<&mut dyn StepPart> {
        let each = steps.iter_mut();
        each.map(|step| step as &mut dyn StepPart).collect()
    }
}

impl<P: TakePart + Copy> TakeChoice for &[P] {
    type Taken = (usize, P::Given);

    fn taken(steps: Self::Steps, at: usize) -> Option<Self::Taken> {
        let step = steps.into_iter().nth(at)?;
        Some((at, P::given(step)?))
    }
}

impl<P: TakePart + Copy, const N: usize> IntoSteps for &[P; N] {
    type Steps = Vec<P::Step>;

    fn into_steps(self) -> Self::Steps {
        self.as_slice().into_steps()
    }

    fn each(steps: &mut Self::Steps) -> Vec<&mut dyn StepPart> {
        <&[P]>::each(steps)
    }
}

impl<P: TakePart + Copy, const N: usize> TakeChoice for &[P; N] {
    type Taken = (usize, P::Given);

    fn taken(steps: Self::Steps, at: usize) -> Option<Self::Taken> {
        <&[P]>::taken(steps, at)
    }
}
