//! The dictionary that grows while entries are read.

use schema::{AttributeNumber, Description, Schema};
use std::sync::{Mutex, PoisonError};

/// The newest schema. Numbers are given in the order of the input, so that equal inputs make equal
/// databases: a worker asks for a new one only when all earlier pieces are worked.
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

    /// The number of a description, given now if it has none.
    pub fn number(&self, description: &Description) -> Result<(Schema, AttributeNumber), String> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, number, _) = newest
            .with_number(description)
            .map_err(|error| error.to_string())?;
        newest.clone_from(&schema);
        Ok((schema, number))
    }
}
