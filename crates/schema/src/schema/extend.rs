//! Extending a schema by definitions.

use std::sync::Arc;

use super::{Definitions, Schema};
use crate::definition::Definition;
use crate::error::SchemaError;
use crate::schema_build::{extend, without_taken_names};

impl Schema {
    /// Returns this schema with more definitions, which may refer to each other in any order. A
    /// definition of an OID in force widens the one in force, which keeps its handle; definitions
    /// that add nothing give this very schema ([`Schema::is_same`]). Names are compared by the
    /// definitions that they mean; description, length and order are ignored.
    ///
    /// # Errors
    /// The first definition that contradicts this schema or uses an undefined name.
    pub fn extended(&self, definitions: &[Definition]) -> Result<Schema, SchemaError> {
        match extend(&self.definitions, definitions, None)? {
            Some(extended) => self.with_definitions(extended),
            None => Ok(self.clone()),
        }
    }

    /// Extends the schema like [`Schema::extended`], but a definition that contradicts one in force
    /// is left out and the conflict returned; one of whose names only some are taken is added under
    /// the others. For files of other servers, which repeat standard definitions in forms of their
    /// own.
    ///
    /// # Errors
    /// The first definition that uses an undefined name or contradicts itself.
    pub fn extended_keeping(
        &self,
        definitions: &[Definition],
    ) -> Result<(Schema, Vec<SchemaError>), SchemaError> {
        let mut kept = Vec::new();
        let definitions = without_taken_names(&self.definitions, definitions, &mut kept);
        let schema = match extend(&self.definitions, &definitions, Some(&mut kept))? {
            Some(extended) => self.with_definitions(extended)?,
            None => self.clone(),
        };
        Ok((schema, kept))
    }

    /// Returns these definitions with the dictionary of this schema; rows of newly defined types
    /// take effect.
    fn with_definitions(&self, definitions: Definitions) -> Result<Schema, SchemaError> {
        let dictionary = Arc::clone(&self.dictionary);
        let schema = Schema {
            definitions: Arc::new(definitions),
            dictionary,
        };
        if schema.unresolved_rows().is_empty() {
            return Ok(schema);
        }
        schema.with_dictionary(&schema.dictionary_rows())
    }
}
