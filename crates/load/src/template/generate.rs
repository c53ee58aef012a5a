//! Walking the tree of a template and making its entries.

use std::fmt;

use super::Template;

/// Makes the entries of a template. Cheap to clone; any number of threads may use one.
#[derive(Clone, Debug)]
pub struct Generator {
    template: Template,
    seed: u64,
}

impl Generator {
    /// The same template and seed always give the same entries.
    pub fn new(template: Template, seed: u64) -> Generator {
        Generator { template, seed }
    }

    /// Every entry the template describes.
    pub fn total_entries(&self) -> u64 {
        self.template.total_entries()
    }

    /// Makes the entries `from..to` (positions in depth-first order) and gives them to `sink`.
    pub fn generate_range<E: From<GenerateError>>(
        &self,
        from: u64,
        to: u64,
        sink: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let _ = (from, to, sink, self.seed);
        unimplemented!()
    }
}

/// One generated entry, borrowed for the duration of the call that hands it out.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    dn: &'a str,
}

impl<'a> Entry<'a> {
    /// Position in depth-first order, from 0.
    pub fn index(&self) -> u64 {
        unimplemented!()
    }

    /// The name, RFC 4514.
    pub fn dn(&self) -> &'a str {
        self.dn
    }

    /// Attributes in the order of the template; each has at least one value.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'a>> {
        std::iter::empty()
    }

    /// The attribute of this description, compared without case.
    pub fn attribute(&self, description: &str) -> Option<Attribute<'a>> {
        self.attributes()
            .find(|it| it.description().eq_ignore_ascii_case(description))
    }
}

/// One attribute of a generated entry with all its values.
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    description: &'a str,
}

impl<'a> Attribute<'a> {
    /// The attribute description as spelled in the template.
    pub fn description(&self) -> &'a str {
        self.description
    }

    /// How many values [`Attribute::for_each`] visits.
    pub fn value_count(&self) -> u64 {
        unimplemented!()
    }

    /// Visits the values in order. Values of a `<loop>` are made one after the other, so a group
    /// of ten million members needs no memory; visiting again gives the same values.
    pub fn for_each(&self, visit: impl FnMut(&[u8])) {
        let _ = visit;
        unimplemented!()
    }
}

/// An entry that the template describes cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerateError {
    /// Line in the template.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "template line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for GenerateError {}
