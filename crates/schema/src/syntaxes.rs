//! The validators of [`crate::syntax`], by kind of value. An error is the expected form.

pub(crate) mod description;
pub(crate) mod identifier;
pub(crate) mod number;
pub(crate) mod other;
pub(crate) mod text;
pub(crate) mod time;

#[cfg(test)]
mod tests;
