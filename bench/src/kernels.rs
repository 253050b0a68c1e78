//! What the experiments of the suite compute: loops over blocks, products of matrices, clustering. Each with motet's forms of
//! it, and with what tells that a peer has computed the same.

pub(crate) mod loops;
pub(crate) mod matrices;
