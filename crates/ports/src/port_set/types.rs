//! The types of a port set: tuples of 2 to 20 item types, and where in them a type stands.

use super::PortSet;
use super::one_of::*;
use crate::PostError;
use crate::port::Port;
use sealed::Sealed;
use std::any::Any;
use std::fmt;

/// The item types of a port set: a tuple of 2 to 20 types. Only tuples implement it; programs use
/// what [`PortSet`] and [`SharedPortSet`](crate::SharedPortSet) make of it.
#[diagnostic::on_unimplemented(
    message = "a port set needs a tuple of 2 to 20 item types, each `Send + 'static`; this is `{Self}`"
)]
pub trait PortTypes: Sealed + 'static {
    /// A tuple of one port for each type.
    type Ports: Clone + Send + Sync + 'static;
    /// An item of any of the types: one of the enums of [`one_of`](crate::one_of).
    type OneOf: Send + 'static;

    #[doc(hidden)]
    #[track_caller]
    fn new_ports() -> Self::Ports;
    #[doc(hidden)]
    fn list(ports: &Self::Ports) -> Vec<&dyn fmt::Debug>;
    #[doc(hidden)]
    fn item_count(ports: &Self::Ports) -> usize;
    #[doc(hidden)]
    fn post(ports: &Self::Ports, item: Self::OneOf) -> Result<(), PostError<Self::OneOf>>;
    #[doc(hidden)]
    fn pick(item: Box<dyn Any + Send>) -> Result<Self::OneOf, Box<dyn Any + Send>>;
    #[doc(hidden)]
    fn into_any(item: Self::OneOf) -> Box<dyn Any + Send>;
}

/// `T` is among the types of a port set. `Index` is [`At`] its place, which the compiler finds when
/// no other place has the same type.
#[diagnostic::on_unimplemented(
    message = "the port set of `{Self}` has no port for `{T}`",
    label = "no port of the set is of this type"
)]
pub trait Holds<T: Send + 'static, Index>: PortTypes {
    #[doc(hidden)]
    fn port(ports: &Self::Ports) -> &Port<T>;
    #[doc(hidden)]
    fn wrap(item: T) -> Self::OneOf;
    #[doc(hidden)]
    fn unwrap(item: Self::OneOf) -> Result<T, Self::OneOf>;
}

/// A place among the types of a port set, counted from 0.
#[derive(Debug)]
pub enum At<const PLACE: usize> {}

mod sealed {
    #[expect(
        unnameable_types,
        reason = "only the tuples of this file are port types"
    )]
    pub trait Sealed {}
}

/// Every tuple that begins with the first list and ends within the second.
macro_rules! tuples {
    ($done:tt) => {};
    ([$($done:tt)*] ($OneOf:ident $P:ident $at:tt $p:ident) $($rest:tt)*) => {
        tuple! { $OneOf [$($done)* ($P $at $p)] $($done)* ($P $at $p) }
        tuples! { [$($done)* ($P $at $p)] $($rest)* }
    };
}

macro_rules! tuple {
    ($OneOf:ident $all:tt $(($P:ident $at:tt $p:ident))+) => {
        impl<$($P: Send + 'static),+> Sealed for ($($P,)+) {}

        impl<$($P: Send + 'static),+> PortTypes for ($($P,)+) {
            type Ports = ($(Port<$P>,)+);
            type OneOf = $OneOf<$($P),+>;

            #[track_caller]
            fn new_ports() -> Self::Ports {
                ($(Port::<$P>::new(),)+)
            }

            fn list(ports: &Self::Ports) -> Vec<&dyn fmt::Debug> {
                vec![$(&ports.$at),+]
            }

            fn item_count(ports: &Self::Ports) -> usize {
                0 $(+ ports.$at.item_count())+
            }

            fn post(
                ports: &Self::Ports,
                item: Self::OneOf,
            ) -> Result<(), PostError<Self::OneOf>> {
                match item {
                    $($OneOf::$P(item) => {
                        ports.$at.post(item).map_err(|refused| refused.map($OneOf::$P))
                    })+
                }
            }

            fn pick(item: Box<dyn Any + Send>) -> Result<Self::OneOf, Box<dyn Any + Send>> {
                $(let item = match item.downcast() {
                    Ok(item) => return Ok($OneOf::$P(*item)),
                    Err(item) => item,
                };)+
                Err(item)
            }

            fn into_any(item: Self::OneOf) -> Box<dyn Any + Send> {
                match item {
                    $($OneOf::$P(item) => Box::new(item),)+
                }
            }
        }

        /// # Ports by place
        impl<$($P: Send + 'static),+> PortSet<($($P,)+)> {
            $(
                /// The port of the type at this place, counted from 0.
                #[must_use]
                #[inline]
                pub fn $p(&self) -> &Port<$P> {
                    &self.ports().$at
                }
            )+
        }

        $(holds! { $OneOf $all $P $at })+
    };
}

macro_rules! holds {
    ($OneOf:ident [$(($All:ident $all_at:tt $all_p:ident))+] $P:ident $at:tt) => {
        impl<$($All: Send + 'static),+> Holds<$P, At<$at>> for ($($All,)+) {
            #[inline]
            fn port(ports: &Self::Ports) -> &Port<$P> {
                &ports.$at
            }

            #[inline]
            fn wrap(item: $P) -> Self::OneOf {
                $OneOf::$P(item)
            }

            #[inline]
            fn unwrap(item: Self::OneOf) -> Result<$P, Self::OneOf> {
                match item {
                    $OneOf::$P(item) => Ok(item),
                    other => Err(other),
                }
            }
        }
    };
}

tuples! {
    [(P0 0 p0)]
    (OneOf2 P1 1 p1)
    (OneOf3 P2 2 p2)
    (OneOf4 P3 3 p3)
    (OneOf5 P4 4 p4)
    (OneOf6 P5 5 p5)
    (OneOf7 P6 6 p6)
    (OneOf8 P7 7 p7)
    (OneOf9 P8 8 p8)
    (OneOf10 P9 9 p9)
    (OneOf11 P10 10 p10)
    (OneOf12 P11 11 p11)
    (OneOf13 P12 12 p12)
    (OneOf14 P13 13 p13)
    (OneOf15 P14 14 p14)
    (OneOf16 P15 15 p15)
    (OneOf17 P16 16 p16)
    (OneOf18 P17 17 p17)
    (OneOf19 P18 18 p18)
    (OneOf20 P19 19 p19)
}
