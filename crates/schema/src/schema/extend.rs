//! Schemas with more definitions.

use std::sync::Arc;

use super::{Definitions, Schema};
use crate::definition::Definition;
use crate::error::SchemaError;
use crate::schema_build::{extend, without_taken_names};

impl Schema {
    /// This schema with more definitions, which may refer to each other in any order. One of an OID
    /// that is defined widens the definition in force, which keeps its handle; definitions that say
    /// nothing new give this very schema ([`Schema::is_same`]). Names are compared by the
    /// definitions that they mean; description, length and order do not matter.
    ///
    /// # Errors
    /// The first definition that contradicts this schema or names something undefined.
    pub fn extended(&self, definitions: &[Definition]) -> Result<Schema, SchemaError> {
        match extend(&self.definitions, definitions, None)? {
            Some(extended) => self.with_definitions(extended),
            None => Ok(self.clone()),
        }
    }

    /// Like [`Schema::extended`], but where a definition contradicts one in force, the one in
    /// force stands and the conflict is returned; where only some of its names are taken, it is
    /// added under the others. For files of other servers, which repeat standard definitions in
    /// forms of their own.
    ///
    /// # Errors
    /// The first definition that names something undefined or contradicts itself.
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

    /// These definitions with the dictionary of this schema; rows of types that are defined now
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
