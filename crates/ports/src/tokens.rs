//! Ports for resources that belong to nobody.

use crate::Port;

/// # Tokens
impl<T: Send + 'static> Port<T> {
    /// An empty port whose items carry no causalities: for resources that go from hand to hand. A
    /// handler that takes one along with another item runs under the other's causalities only, and
    /// does not pass them on with the resource.
    ///
    /// ```
    /// use motet_dispatch::{Causality, Inline};
    /// use motet_ports::{JoinedReceive, Port};
    ///
    /// let (printers, jobs) = (Port::for_tokens(), Port::new());
    /// let back = printers.clone();
    /// JoinedReceive::persistent((&printers, &jobs), move |(printer, _page): (&str, u32)| {
    ///     assert_eq!(Causality::active().len(), 1);
    ///     back.post(printer).unwrap();
    /// })
    /// .activate(&Inline::new("here"))
    /// .unwrap();
    /// printers.post("laser").unwrap();
    /// for page in 1..=3 {
    ///     Causality::new("a user's").run(|| jobs.post(page)).unwrap();
    /// }
    /// ```
    #[must_use]
    pub fn for_tokens() -> Self {
        Port::with_tokens()
    }
}
