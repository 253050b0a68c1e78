//! Port sets: several types of item, addressed by type.

mod choice;
pub mod one_of;
mod types;

pub use choice::HandlersFor;
pub use types::{At, Holds, PortTypes};

use crate::port::Port;
use crate::{PostAnyError, PostError};
use std::any::{Any, type_name};
use std::error::Error;
use std::fmt;

/// One port for each of 2 to 20 types of item (CCR's `PortSet` in its independent mode).
///
/// Items find their port by their type when the program is compiled; a type that the set lacks does
/// not compile. The ports are ordinary ones: receives, joins and awaits use them singly, and
/// nothing is promised about the order of items in different ports. The handle is cheap to clone;
/// all clones have the same ports.
///
/// ```
/// use motet_dispatch::Inline;
/// use motet_ports::{Port, PortSet, Receive};
///
/// struct Deposit(u64);
/// struct Close;
///
/// let account = PortSet::<(Deposit, Close)>::new();
/// let balance = Port::new();
/// let out = balance.clone();
/// Receive::persistent(account.p0(), move |Deposit(amount)| out.post(amount).unwrap())
///     .activate(&Inline::new("here"))
///     .unwrap();
/// account.post(Deposit(20)).unwrap();
/// account.post(Close).unwrap();
/// assert_eq!(balance.items(), [20]);
/// assert_eq!(account.port::<Close, _>().item_count(), 1);
/// ```
///
/// What CCR found out at run time the compiler finds out:
///
/// ```compile_fail,E0277
/// let set = motet_ports::PortSet::<(u32, String)>::new();
/// set.post(1.5_f64).unwrap(); // no port for this type
/// ```
///
/// ```compile_fail,E0283
/// let set = motet_ports::PortSet::<(u32, u32)>::new();
/// set.post(1_u32).unwrap(); // to which of the two? set.p1().post(1) says it
/// ```
pub struct PortSet<S: PortTypes> {
    ports: S::Ports,
}

/// One port for several types of item, which keeps the order of posts between them (CCR's
/// `PortSet` in its shared mode).
///
/// Its items are an enum with one variant for each type ([`one_of`]), so whoever receives matches.
/// There is no port of one type to ask for, and no item of an unexpected type.
///
/// ```
/// use motet_ports::SharedPortSet;
/// use motet_ports::one_of::OneOf2;
///
/// let replies = SharedPortSet::<(u32, &str)>::new();
/// replies.post("not yet").unwrap();
/// replies.post(42).unwrap();
/// assert!(matches!(replies.shared_port().test(), Some(OneOf2::P1("not yet"))));
/// assert!(matches!(replies.shared_port().test(), Some(OneOf2::P0(42))));
/// ```
///
/// Not to be had from a shared set:
///
/// ```compile_fail,E0599
/// let set = motet_ports::SharedPortSet::<(u32, String)>::new();
/// set.p0(); // the port of one type
/// ```
///
/// ```compile_fail,E0599
/// let set = motet_ports::SharedPortSet::<(u32, String)>::new();
/// set.port::<u32, _>(); // the same by type
/// ```
///
/// ```compile_fail,E0631
/// use motet_ports::{Receive, SharedPortSet};
/// let set = SharedPortSet::<(u32, String)>::new();
/// let _ = Receive::once(set.shared_port(), |n: u32| drop(n)); // a receive of one type
/// ```
///
/// ```compile_fail,E0308
/// let set = motet_ports::SharedPortSet::<(u32, String)>::new();
/// let n: Option<u32> = set.shared_port().test(); // an item without matching
/// ```
///
/// ```compile_fail,E0277
/// let set = motet_ports::SharedPortSet::<(u32, String)>::new();
/// set.post(1.5_f64).unwrap(); // a type that is not in the set
/// ```
pub struct SharedPortSet<S: PortTypes> {
    port: Port<S::OneOf>,
}

/// The port set of an operation that succeeds with a `T` or fails with an `E` (CCR's
/// `SuccessFailurePort`). It is the common shape of a reply of which somebody may see only one
/// half. Where one asker awaits one answer, [`reply`](crate::reply) is simpler.
///
/// ```
/// use motet_ports::SuccessFailurePort;
///
/// let done = SuccessFailurePort::<u32>::new();
/// done.post_result("17".parse().map_err(Into::into)).unwrap();
/// done.post_result("many".parse().map_err(Into::into)).unwrap();
/// assert_eq!(done.p0().test(), Some(17));
/// assert_eq!(done.p1().test().unwrap().to_string(), "invalid digit found in string");
/// ```
pub type SuccessFailurePort<T = (), E = Box<dyn Error + Send + Sync>> = PortSet<(T, E)>;

impl<S: PortTypes> PortSet<S> {
    /// A set of empty ports.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        PortSet {
            ports: S::new_ports(),
        }
    }

    /// A set of ports that there are already, in the order of its types.
    ///
    /// ```
    /// use motet_ports::{Port, PortSet};
    ///
    /// let names = Port::new();
    /// let set = PortSet::<(u32, &str)>::with_ports((Port::new(), names.clone()));
    /// set.post("Ada").unwrap();
    /// assert_eq!(names.test(), Some("Ada"));
    /// ```
    #[must_use]
    pub fn with_ports(ports: S::Ports) -> Self {
        PortSet { ports }
    }

    /// All ports, in the order of the types: `let (names, ages) = set.ports();`.
    #[must_use]
    pub fn ports(&self) -> &S::Ports {
        &self.ports
    }

    /// The port of type `T`: `set.port::<T, _>()`. By place: `p0()`, `p1()` and so on.
    #[must_use]
    #[inline]
    pub fn port<T: Send + 'static, At>(&self) -> &Port<T>
    where
        S: Holds<T, At>,
    {
        S::port(&self.ports)
    }

    /// Posts `item` to the port of its type, as [`Port::post`].
    ///
    /// # Errors
    /// As [`Port::post`].
    #[inline]
    pub fn post<T: Send + 'static, At>(&self, item: T) -> Result<(), PostError<T>>
    where
        S: Holds<T, At>,
    {
        self.port().post(item)
    }

    /// Posts an item whose type is known at run time only, to the port of exactly that type.
    ///
    /// CCR takes the first port of a base type when there is no exact one. For that, use a trait
    /// object as the type of the items: `set.post(Box::new(circle) as Box<dyn Shape>)`.
    ///
    /// # Errors
    /// [`PostAnyError`] gives the item back when no port is of its type, or when its port refuses
    /// it.
    ///
    /// ```
    /// use motet_ports::{PortSet, PostAnyError};
    ///
    /// let set = PortSet::<(u32, String)>::new();
    /// set.post_any(Box::new(7_u32)).unwrap();
    /// assert_eq!(set.p0().test(), Some(7));
    /// let error = set.post_any(Box::new(1.5_f64)).unwrap_err();
    /// assert!(matches!(error, PostAnyError::PortNotFound { .. }));
    /// assert_eq!(error.into_item().downcast_ref(), Some(&1.5));
    /// ```
    pub fn post_any(&self, item: Box<dyn Any + Send>) -> Result<(), PostAnyError> {
        let item = pick::<S>(item)?;
        self.post_one_of(item).map_err(refused_any::<S>)
    }

    /// Posts one of the types to its port: what came through a [`SharedPortSet`], for instance.
    ///
    /// # Errors
    /// As [`Port::post`].
    pub fn post_one_of(&self, item: S::OneOf) -> Result<(), PostError<S::OneOf>> {
        S::post(&self.ports, item)
    }

    /// The number of items that wait in all ports together.
    #[must_use]
    pub fn item_count(&self) -> usize {
        S::item_count(&self.ports)
    }
}

impl<T: Send + 'static, E: Send + 'static> PortSet<(T, E)> {
    /// Posts a success to the first port or a failure to the second.
    ///
    /// # Errors
    /// As [`Port::post`].
    pub fn post_result(&self, result: Result<T, E>) -> Result<(), PostError<Result<T, E>>> {
        match result {
            Ok(item) => self.p0().post(item).map_err(|refused| refused.map(Ok)),
            Err(error) => self.p1().post(error).map_err(|refused| refused.map(Err)),
        }
    }
}

impl<S: PortTypes> SharedPortSet<S> {
    /// A set with an empty port.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        SharedPortSet::with_port(Port::new())
    }

    /// A set around a port that there is already.
    #[must_use]
    pub fn with_port(port: Port<S::OneOf>) -> Self {
        SharedPortSet { port }
    }

    /// The port of all types.
    #[must_use]
    pub fn shared_port(&self) -> &Port<S::OneOf> {
        &self.port
    }

    /// Posts `item`, as [`Port::post`].
    ///
    /// # Errors
    /// As [`Port::post`].
    #[inline]
    pub fn post<T: Send + 'static, At>(&self, item: T) -> Result<(), PostError<T>>
    where
        S: Holds<T, At>,
    {
        let posted = self.port.post(S::wrap(item));
        posted.map_err(|refused| {
            refused.map(|item| match S::unwrap(item) {
                Ok(item) => item,
                Err(_) => unreachable!("what is handed back is what was posted"),
            })
        })
    }

    /// Posts an item whose type is known at run time only.
    ///
    /// # Errors
    /// [`PostAnyError`] gives the item back when its type is not in the set, or when the port
    /// refuses it.
    pub fn post_any(&self, item: Box<dyn Any + Send>) -> Result<(), PostAnyError> {
        let item = pick::<S>(item)?;
        self.port.post(item).map_err(refused_any::<S>)
    }
}

/// The item as one of the set's types.
fn pick<S: PortTypes>(item: Box<dyn Any + Send>) -> Result<S::OneOf, PostAnyError> {
    S::pick(item).map_err(|item| PostAnyError::PortNotFound {
        item,
        types: type_name::<S>(),
    })
}

fn refused_any<S: PortTypes>(refused: PostError<S::OneOf>) -> PostAnyError {
    PostAnyError::Refused(refused.map(S::into_any))
}

impl<S: PortTypes> Clone for PortSet<S> {
    fn clone(&self) -> Self {
        PortSet::with_ports(self.ports.clone())
    }
}

impl<S: PortTypes> Default for PortSet<S> {
    #[track_caller]
    fn default() -> Self {
        PortSet::new()
    }
}

impl<S: PortTypes> fmt::Debug for PortSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PortSet ")?;
        f.debug_list().entries(S::list(&self.ports)).finish()
    }
}

impl<S: PortTypes> Clone for SharedPortSet<S> {
    fn clone(&self) -> Self {
        SharedPortSet::with_port(self.port.clone())
    }
}

impl<S: PortTypes> Default for SharedPortSet<S> {
    #[track_caller]
    fn default() -> Self {
        SharedPortSet::new()
    }
}

impl<S: PortTypes> fmt::Debug for SharedPortSet<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedPortSet").field(&self.port).finish()
    }
}
