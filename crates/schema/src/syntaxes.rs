//! The validators behind [`crate::syntax`], by kind of value. Each answers what it expected.

pub(crate) mod description;
pub(crate) mod identifier;
pub(crate) mod number;
pub(crate) mod other;
pub(crate) mod text;
pub(crate) mod time;

#[cfg(test)]
mod tests;
