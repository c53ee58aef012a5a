//! The MakeLDIF template language of SLAMD and OpenDJ.
//!
//! A template says which entries a directory holds: branches, and below them any number of
//! entries made from templates. `parse.rs` reads the text, `tag.rs` the tags inside a line,
//! `compile.rs` resolves names and counts, `generate.rs` makes entries, `expand.rs` their values.
//!
//! Invariants:
//! - entries stand in depth-first order, so a parent always precedes its children;
//! - an entry depends on (seed, template, ordinals on its path) and on nothing made before it,
//!   so any range can be made again by any number of threads.

mod compile;
mod expand;
mod generate;
mod lists;
mod model;
mod parse;
mod tag;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use generate::{Attribute, Entry, GenerateError, Generator};

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
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                self.set(name, value);
                Ok(())
            }
            _ => Err(format!("expected name=value, found {text:?}")),
        }
    }

    pub(crate) fn value(&self, lower_name: &str) -> Option<&str> {
        self.values.get(lower_name).map(String::as_str)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

/// How a template is read.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Folders in which `<file:…>` and `attr:< file:…` look for relative paths, in this order;
    /// after them come the lists shipped with Pando.
    pub folders: Vec<PathBuf>,
    /// Accept `attr:< file:///…` lines.
    pub file_urls: bool,
    /// Number as SLAMD does: the `<sequential>` tags of one attribute share one counter.
    pub slamd_counters: bool,
}

/// An error in a template, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// Line in the template, from 1; 0 when no line is to blame.
    pub line: u64,
    /// The error: what was expected and what was found.
    pub message: String,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl std::error::Error for TemplateError {}

/// A template that has been read and checked. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Template {
    plan: Arc<model::Plan>,
}

impl Template {
    /// Reads a template; `defines` win over its own definitions.
    pub fn parse(text: &str, defines: &Defines) -> Result<Template, TemplateError> {
        Template::parse_with(text, defines, &ParseOptions::default())
    }

    /// Reads a template with options.
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
    /// with none, every ancestor is: `ou=oracle,dc=com` then begins with an entry `dc=com`.
    pub fn with_suffix_entries(self, suffixes: &[&str]) -> Result<Template, TemplateError> {
        let mut plan = (*self.plan).clone();
        compile::add_suffix_entries(&mut plan, suffixes)?;
        Ok(Template {
            plan: Arc::new(plan),
        })
    }

    /// Every entry the template describes.
    pub fn total_entries(&self) -> u64 {
        self.plan.total
    }

    /// The attribute descriptions used, each with the first line that uses it (0: implied by a
    /// branch), so that a caller with a schema can refuse unknown ones.
    pub fn attributes(&self) -> Vec<(u64, &str)> {
        self.plan.attributes()
    }

    /// The names that the template defines or uses, in lower case and in order.
    pub fn known_names(&self) -> &[String] {
        &self.plan.known_names
    }

    /// Names given as [`Defines`] that the template neither defines nor uses: likely typing errors.
    pub fn unused_defines(&self) -> &[String] {
        &self.plan.unused_defines
    }

    /// The branches' names as spelled, in the order in which they are made.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.plan
            .branches
            .iter()
            .map(|&branch| self.plan.definitions[branch].name.as_str())
    }
}
