//! The ports of a causality: one for the panics of its work, one back to whoever made it.

use crate::{Port, PostError};
use motet_dispatch::{Causality, Exception};
use std::fmt;

/// Gives a [`Causality`] its ports (CCR's exception port and coordination port).
///
/// ```
/// use motet_dispatch::{Causality, Inline};
/// use motet_ports::{CausalityPorts, FromHandler, Port};
///
/// let (exceptions, progress) = (Port::new(), Port::new());
/// let order = Causality::new("order 17").exception_port(&exceptions).coordination_port(&progress);
/// order.run(|| FromHandler::new(|| {
///     Causality::coordinate("packed").unwrap();
///     panic!("out of string");
/// }).activate(&Inline::new("here"))).unwrap();
/// assert_eq!(progress.test(), Some("packed"));
/// let exception = exceptions.test().unwrap();
/// assert_eq!((exception.message(), exception.causality()), ("out of string", Some("order 17")));
/// ```
pub trait CausalityPorts: Sized {
    /// Posts each panic of work under the causality, that no inner one hears of, to `port`. Those
    /// that the port refuses go to the next outer one. Handlers of the port run under the
    /// causalities outside, so their own panics go there too.
    ///
    /// # Panics
    /// When the causality has been cloned or entered already.
    #[must_use]
    fn exception_port(self, port: &Port<Exception>) -> Self;

    /// Takes what [`CausalityPorts::coordinate`] sends from anywhere under the causality.
    ///
    /// # Panics
    /// As above.
    #[must_use]
    fn coordination_port<M: Send + 'static>(self, port: &Port<M>) -> Self;

    /// Posts `message` to the coordination port of the innermost active causality that has one for
    /// such messages.
    ///
    /// # Errors
    /// [`CoordinateError`] hands the message back.
    fn coordinate<M: Send + 'static>(message: M) -> Result<(), CoordinateError<M>>;
}

impl CausalityPorts for Causality {
    fn exception_port(self, port: &Port<Exception>) -> Self {
        let port = port.clone();
        self.on_exception(move |exception| port.post(exception).map_err(|refused| refused.item))
    }

    fn coordination_port<M: Send + 'static>(self, port: &Port<M>) -> Self {
        self.with_coordination(port.clone())
    }

    fn coordinate<M: Send + 'static>(message: M) -> Result<(), CoordinateError<M>> {
        match Causality::coordination::<Port<M>>() {
            Some(port) => port.post(message).map_err(CoordinateError::Refused),
            None => Err(CoordinateError::Nobody(message)),
        }
    }
}

/// A message to whoever made the causality that did not get there.
#[non_exhaustive]
pub enum CoordinateError<M> {
    /// No active causality has a coordination port for such messages.
    Nobody(M),
    /// The port refused it.
    Refused(PostError<M>),
}

impl<M> fmt::Debug for CoordinateError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoordinateError::Nobody(_) => f.write_str("Nobody"),
            CoordinateError::Refused(refused) => f.debug_tuple("Refused").field(refused).finish(),
        }
    }
}

impl<M> fmt::Display for CoordinateError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoordinateError::Nobody(_) => write!(
                f,
                "no active causality has a coordination port for {}: give it one, or run under it",
                std::any::type_name::<M>()
            ),
            CoordinateError::Refused(refused) => write!(f, "coordination port: {refused}"),
        }
    }
}

impl<M> std::error::Error for CoordinateError<M> {}
