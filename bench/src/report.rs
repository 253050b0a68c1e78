//! One page that says what was measured: losses first, then the machine, the experiments, the
//! papers' claims.
//!
//! The page is a pure function of the rows and the record of the machine; it holds everything it
//! shows and needs no network.
//!
//! ```text
//!  Results ──> losses, evidence ──> claims ──> verdicts ─┐
//!     └──> tables, pictures ──> experiments, figures ────┴──> page
//! ```

mod causes;
mod claims;
mod evidence;
mod experiments;
mod figures;
mod html;
mod judges;
mod losses;
mod machine;
mod machines;
mod page;
mod reasons;
mod verdict;

pub use losses::{FormLosses, Loss, Losses};
pub use page::page;
