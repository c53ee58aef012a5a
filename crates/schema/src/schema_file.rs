//! Reads schema files of other servers: OpenLDAP `.schema` and LDIF in three dialects.

use crate::definition::Definition;
use crate::error::SchemaFileError;

/// Reads a schema file; which dialect it is, is seen from its first directive.
///
/// # Errors
/// The line and what is wrong with it.
pub fn read_schema_file(text: &str) -> Result<Vec<Definition>, SchemaFileError> {
    let _ = text;
    unimplemented!()
}
