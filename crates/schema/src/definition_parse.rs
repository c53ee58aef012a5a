//! Reads RFC 4512 §4.1 descriptions.
//!
//! Lenient where servers in the field are: fields in any order, quoted OIDs, bare words where a
//! quoted string is due, a single value without parentheses, line ends as white space, OIDs that
//! are names or `macro:suffix`. Strict about everything else: an unknown keyword is an error.

use protocol::TextError;

use crate::definition::*;

/// Parses one description of the given kind.
///
/// # Errors
/// Where and why the text is not such a description.
pub fn parse_definition(kind: DefinitionKind, text: &str) -> Result<Definition, TextError> {
    let _ = (kind, text);
    unimplemented!()
}
