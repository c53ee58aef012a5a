//! Rules `within` an area: those that somebody writes to whom a part of the directory was handed
//! over.
//!
//! Such a rule is about entries of its area alone, gives rights and takes none, and is asked behind
//! all rules of larger areas. So what rules from above decide stays decided.

use schema::Name;

/// The order of rules by their areas.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Number of RDNs in the name of the area before; `None` if that rule was about everything.
    before: Option<usize>,
}

impl Places {
    /// Takes note of the next rule's area.
    ///
    /// # Errors
    /// The area is larger than that of a rule before.
    pub(super) fn follows(&mut self, within: Option<&Name>) -> Result<(), String> {
        let depth = within.map(Name::depth);
        if depth < self.before {
            return Err(
                "expected rules of larger areas, and those without \"within\", before those of \
                 smaller ones, got one behind"
                    .to_owned(),
            );
        }
        self.before = depth;
        Ok(())
    }
}
