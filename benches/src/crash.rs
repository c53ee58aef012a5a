//! Killing Pando at random moments: the node, the moments, and what must be true afterwards.

mod members;
mod moments;
mod node;
mod writer;

pub use members::{GROUP, Members, NEXT, Slices};
pub use moments::{Moments, end, works_for};
pub use node::{Node, PEOPLE, SPARES, spare};
pub use writer::{Writer, Wrote};
