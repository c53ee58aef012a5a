//! Rule sets that come with the program, as text.

#[cfg(test)]
mod tests;

use crate::access::parse::parse;
use crate::access::rules::Rule;

/// The text of the built-in rules, which mean what the server decides without other ones: what
/// [`crate::access::Access`] decides, and who may use which operations and controls.
///
/// Proxies are the members of the group `cn=config` by its attribute `pandoProxy`; acting as the
/// administrator is a question about the entry below `cn=config` that holds its password, acting as
/// nobody one about the root DSE.
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
