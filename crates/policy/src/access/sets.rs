//! Rule sets that come with the program, as text.

#[cfg(test)]
mod tests;

use crate::access::parse::parse;
use crate::access::rules::Rule;

/// The text of the built-in rules, which mean what [`crate::access::Access`] decides.
pub const BUILTIN: &str = include_str!("sets/builtin.rules");

/// The text of the rules of a new directory.
pub const DEFAULT: &str = include_str!("sets/default.rules");

/// Returns the built-in rules.
pub fn builtin() -> Vec<Rule> {
    let read = parse(BUILTIN).expect("the built-in rules are tested");
    read.rules
}

/// Returns the rules of a new directory.
pub fn default() -> Vec<Rule> {
    let read = parse(DEFAULT).expect("the default rules are tested");
    read.rules
}
