//! A choice over the ports of a port set.

use super::{PortSet, PortTypes};
use crate::arbiter::{Branches, Choice, Receive};

/// A tuple of handlers, one for each type of a port set, in the order of its types; see
/// [`Choice::of`].
#[diagnostic::on_unimplemented(
    message = "a choice of `PortSet<{S}>` needs a tuple of as many handlers, each a function of one of its types, in their order"
)]
pub trait HandlersFor<S: PortTypes> {
    /// The branches of the choice.
    type Branches: Branches;

    #[doc(hidden)]
    fn choose(self, ports: &S::Ports) -> Choice<Self::Branches>;
}

impl Choice {
    /// A choice over the ports of a set (CCR's `Choice` of a `PortSet`). It handles one item, of
    /// whichever type comes first, with the handler of that type. The others keep what they hold.
    /// When several ports hold items at the activation the order of the types decides.
    ///
    /// ```
    /// use motet_dispatch::Inline;
    /// use motet_ports::{Choice, Port, SuccessFailurePort};
    ///
    /// let (done, said) = (SuccessFailurePort::<u32, String>::new(), Port::new());
    /// let (well, badly) = (said.clone(), said.clone());
    /// Choice::of(&done, (
    ///     move |n: u32| well.post(format!("made {n}")).unwrap(),
    ///     move |why: String| badly.post(why).unwrap(),
    /// ))
    /// .activate(&Inline::new("here"))
    /// .unwrap();
    /// done.post_result(Err("no flour".to_owned())).unwrap();
    /// done.post_result(Ok(12)).unwrap();
    /// assert_eq!(said.items(), ["no flour"]);
    /// assert_eq!(done.p0().items(), [12], "one item is handled");
    /// ```
    ///
    /// A handler of another type, or one too few, does not compile:
    ///
    /// ```compile_fail,E0277
    /// use motet_ports::{Choice, PortSet};
    /// let set = PortSet::<(u32, String)>::new();
    /// let _ = Choice::of(&set, (|n: u32| drop(n),));
    /// ```
    pub fn of<S: PortTypes, H: HandlersFor<S>>(
        set: &PortSet<S>,
        handlers: H,
    ) -> Choice<H::Branches> {
        handlers.choose(set.ports())
    }
}

/// The type of a choice's branches: those before, and one more.
macro_rules! branches {
    ([$before:ty]) => { $before };
    ([$before:ty] $P:ident $($rest:ident)*) => { branches!([($before, Receive<$P>)] $($rest)*) };
}

/// Every tuple that begins with the first list and ends within the second.
macro_rules! tuples {
    ($done:tt) => {};
    ([$($done:tt)*] ($P:ident $H:ident $at:tt) $($rest:tt)*) => {
        tuple! { $($done)* ($P $H $at) }
        tuples! { [$($done)* ($P $H $at)] $($rest)* }
    };
}

macro_rules! tuple {
    ($(($P:ident $H:ident $at:tt))+) => {
        impl<$($P: Send + 'static, $H: FnOnce($P) + Send + 'static),+> HandlersFor<($($P,)+)>
            for ($($H,)+)
        {
            type Branches = branches!([()] $($P)+);

            fn choose(
                self,
                ports: &<($($P,)+) as PortTypes>::Ports,
            ) -> Choice<Self::Branches> {
                Choice::new()$(.or(Receive::once(&ports.$at, self.$at)))+
            }
        }
    };
}

tuples! {
    [(P0 H0 0)]
    (P1 H1 1)
    (P2 H2 2)
    (P3 H3 3)
    (P4 H4 4)
    (P5 H5 5)
    (P6 H6 6)
    (P7 H7 7)
    (P8 H8 8)
    (P9 H9 9)
    (P10 H10 10)
    (P11 H11 11)
    (P12 H12 12)
    (P13 H13 13)
    (P14 H14 14)
    (P15 H15 15)
    (P16 H16 16)
    (P17 H17 17)
    (P18 H18 18)
    (P19 H19 19)
}
