//! The MakeLDIF template language of SLAMD and OpenDJ.
//!
//! A template describes the entries of a directory: branches, and below them any number of entries
//! made from templates. `parse.rs` parses the text, `tag.rs` the tags inside a line, `compile.rs`
//! resolves names and counts, `generate.rs` makes entries, `expand.rs` their values.
//!
//! Invariants:
//! - entries are in depth-first order, so a superior always precedes its subordinates;
//! - an entry depends on (seed, template, ordinals on its path) and on no entry made before it, so
//!   any range can be made again by any number of threads.

mod compile;
mod defines;
mod error;
mod expand;
mod generate;
mod lists;
mod model;
mod options;
mod parse;
mod tag;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use defines::Defines;
pub use error::{GenerateError, TemplateError};
pub use generate::{Attribute, Entry, Generator};
pub use options::ParseOptions;

/// A compiled template. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Template {
    plan: Arc<model::Plan>,
}

impl Template {
    /// Compiles a template; `defines` replace its own definitions.
    pub fn parse(text: &str, defines: &Defines) -> Result<Template, TemplateError> {
        Template::parse_with(text, defines, &ParseOptions::default())
    }

    /// Compiles a template with options.
    pub fn parse_with(
        text: &str,
        defines: &Defines,
        options: &ParseOptions,
    ) -> Result<Template, TemplateError> {
        let source = parse::source(text, defines)?;
        Ok(Template {
            plan: Arc::new(compile::plan(source, options)?),
        })
    }

    /// Adds entries for ancestors of branches that no branch makes itself.
    ///
    /// With `suffixes`, only ancestors at or below one of these names (as spelled) are added;
    /// without any, every ancestor is: `ou=oracle,dc=com` then begins with an entry `dc=com`.
    pub fn with_suffix_entries(self, suffixes: &[&str]) -> Result<Template, TemplateError> {
        let mut plan = (*self.plan).clone();
        compile::add_suffix_entries(&mut plan, suffixes)?;
        Ok(Template {
            plan: Arc::new(plan),
        })
    }

    /// Number of entries that the template describes.
    pub fn total_entries(&self) -> u64 {
        self.plan.total
    }

    /// The attribute descriptions used, each with the first line that uses it (0: implied by a
    /// branch), so that a caller with a schema can refuse unknown ones.
    pub fn attributes(&self) -> Vec<(u64, &str)> {
        self.plan.attributes()
    }

    /// Names that the template defines or uses, in lower case and in order.
    pub fn known_names(&self) -> &[String] {
        &self.plan.known_names
    }

    /// Names given as [`Defines`] that the template neither defines nor uses: probable typing
    /// errors.
    pub fn unused_defines(&self) -> &[String] {
        &self.plan.unused_defines
    }

    /// Names of the branches as spelled, in the order in which they are made.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.plan
            .branches
            .iter()
            .map(|&branch| self.plan.definitions[branch].name.as_str())
    }
}
