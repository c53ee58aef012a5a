//! Index rows: which keys an entry has, and the tables they stand in.

pub(crate) mod build;
pub(crate) mod equality;
pub(crate) mod estimate;
pub(crate) mod keys;
pub(crate) mod order;
pub(crate) mod order_rows;
pub(crate) mod posting;
