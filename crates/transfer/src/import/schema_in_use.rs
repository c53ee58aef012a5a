//! The schema of an import, whose dictionary grows while entries are read.

use schema::{AttributeNumber, Description, Schema};
use std::sync::{Mutex, PoisonError};

/// The newest schema. Attribute numbers are assigned in the order of the input, so that equal
/// inputs make equal databases: a worker requests a new one when all earlier pieces are finished.
#[derive(Debug)]
pub(super) struct SchemaInUse {
    newest: Mutex<Schema>,
}

impl SchemaInUse {
    pub fn new(schema: Schema) -> SchemaInUse {
        SchemaInUse {
            newest: Mutex::new(schema),
        }
    }

    pub fn newest(&self) -> Schema {
        self.newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The number of a description, assigned now if it has none, and the schema that has it.
    pub fn number(&self, description: &Description) -> Result<(Schema, AttributeNumber), String> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, number, _) = newest
            .with_number(description)
            .map_err(|error| error.to_string())?;
        newest.clone_from(&schema);
        Ok((schema, number))
    }
}
