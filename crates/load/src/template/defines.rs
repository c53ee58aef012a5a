//! Names that the caller of a template defines.

use std::collections::BTreeMap;

/// Names defined by the caller (`--define NumUsers=1000`), which replace the template's own
/// definitions.
#[derive(Clone, Debug, Default)]
pub struct Defines {
    values: BTreeMap<String, String>,
}

impl Defines {
    /// Returns an empty set of names.
    pub fn new() -> Defines {
        Defines::default()
    }

    /// Gives `name` (case does not matter) the text `value`.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values
            .insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }

    /// Parses one `name=value`.
    ///
    /// # Errors
    /// The text has no `=`, or nothing before it.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                self.set(name, value);
                Ok(())
            }
            _ => Err(format!("expected name=value, found {text:?}")),
        }
    }

    /// Returns the value of a name in lower case; `None` when it is not defined.
    pub(crate) fn value(&self, lower_name: &str) -> Option<&str> {
        self.values.get(lower_name).map(String::as_str)
    }

    /// Iterates over the defined names, in lower case and in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}
