//! Index rows: the index keys of an entry, and the tables of these keys.

pub(crate) mod build;
pub(crate) mod equality;
pub(crate) mod estimate;
pub(crate) mod keys;
pub(crate) mod order;
pub(crate) mod order_rows;
pub(crate) mod posting;
