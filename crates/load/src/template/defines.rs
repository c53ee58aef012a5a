//! Names that the caller of a template defines.

use std::collections::BTreeMap;

/// Names given from outside (`--define NumUsers=1000`); they win over the template's own.
#[derive(Clone, Debug, Default)]
pub struct Defines {
    values: BTreeMap<String, String>,
}

impl Defines {
    /// No names.
    pub fn new() -> Defines {
        Defines::default()
    }

    /// Gives `name` (case does not matter) the text `value`.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values
            .insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
    }

    /// Reads one `name=value`.
    ///
    /// # Errors
    /// There is no `=`, or nothing before it.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                self.set(name, value);
                Ok(())
            }
            _ => Err(format!("expected name=value, found {text:?}")),
        }
    }

    /// The text of a name in lower case; `None` when the name was not given.
    pub(crate) fn value(&self, lower_name: &str) -> Option<&str> {
        self.values.get(lower_name).map(String::as_str)
    }

    /// Every name given, in lower case and in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}
