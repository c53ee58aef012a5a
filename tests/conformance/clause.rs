//! Clauses as data: a name, a sentence, the features it needs, and a function that tests it.

use std::fmt;

use crate::case::Case;
use crate::{Finding, Offers};

type Examine = Box<dyn Fn(&mut Case<'_>) -> Result<(), Finding> + Send + Sync>;

/// A feature that a server must offer for a clause to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A control listed in the root DSE.
    Control(&'static str),
    /// An extended operation listed in the root DSE.
    Extension(&'static str),
    /// A feature listed in the root DSE.
    Feature(&'static str),
    /// An attribute type of the subschema, by name.
    Type(&'static str),
    /// An object class of the subschema, by name.
    Class(&'static str),
    /// A matching rule of the subschema, by OID.
    Rule(&'static str),
}

impl Need {
    /// Returns whether the server offers it.
    pub fn is_met(self, offers: &Offers) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|it| it.eq_ignore_ascii_case(name));
        match self {
            Need::Control(oid) => has(&offers.controls, oid),
            Need::Extension(oid) => has(&offers.extensions, oid),
            Need::Feature(oid) => has(&offers.features, oid),
            Need::Type(name) => has(&offers.types, name),
            Need::Class(name) => has(&offers.classes, name),
            Need::Rule(oid) => has(&offers.rules, oid),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Need::Control(oid) => write!(out, "control {oid}"),
            Need::Extension(oid) => write!(out, "extended operation {oid}"),
            Need::Feature(oid) => write!(out, "feature {oid}"),
            Need::Type(name) => write!(out, "attribute type {name}"),
            Need::Class(name) => write!(out, "object class {name}"),
            Need::Rule(oid) => write!(out, "matching rule {oid}"),
        }
    }
}

/// One statement of a standard.
pub struct Clause {
    /// Standard, section and a few words: `rfc4511-4.5.1.2-one-level-leaves-out-the-base`.
    pub id: String,
    /// Name of the standard: `rfc4511`.
    pub standard: &'static str,
    /// Section of the standard: `4.5.1.2`.
    pub section: &'static str,
    /// The statement, in our own words.
    pub text: String,
    /// The features that the server must offer.
    pub needs: Vec<Need>,
    /// The reason why OpenLDAP's slapd does not pass the clause.
    pub slapd: Option<&'static str>,
    pub(crate) examine: Examine,
}

impl fmt::Debug for Clause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.id, self.text)
    }
}

impl Clause {
    /// Adds a feature that the server must offer.
    pub fn needs(&mut self, need: Need) -> &mut Self {
        self.needs.push(need);
        self
    }

    /// Notes that slapd does not pass, and why that is slapd's choice or error, not Pando's.
    pub fn slapd(&mut self, reason: &'static str) -> &mut Self {
        self.slapd = Some(reason);
        self
    }

    /// Returns the first needed feature that the server does not offer.
    pub fn missing(&self, offers: &Offers) -> Option<Need> {
        self.needs.iter().copied().find(|need| !need.is_met(offers))
    }
}

/// A collection of clauses.
#[derive(Debug, Default)]
pub struct Book {
    clauses: Vec<Clause>,
}

impl Book {
    /// Begins a section of a standard.
    pub fn section(&mut self, standard: &'static str, section: &'static str) -> Section<'_> {
        self.section_needing(standard, section, &[])
    }

    /// Begins a section in which every clause has the same needs.
    pub fn section_needing(
        &mut self,
        standard: &'static str,
        section: &'static str,
        needs: &[Need],
    ) -> Section<'_> {
        Section {
            book: self,
            standard,
            section,
            needs: needs.to_vec(),
        }
    }

    /// Returns all clauses, in the order of writing.
    pub fn into_clauses(self) -> Vec<Clause> {
        self.clauses
    }
}

/// A section to which clauses are added.
#[derive(Debug)]
pub struct Section<'a> {
    book: &'a mut Book,
    standard: &'static str,
    section: &'static str,
    needs: Vec<Need>,
}

impl Section<'_> {
    /// Adds a clause: words for its name, the statement, and the function that tests it.
    pub fn clause(
        &mut self,
        words: impl fmt::Display,
        text: impl fmt::Display,
        examine: impl Fn(&mut Case<'_>) -> Result<(), Finding> + Send + Sync + 'static,
    ) -> &mut Clause {
        self.book.clauses.push(Clause {
            id: format!("{}-{}-{words}", self.standard, self.section),
            standard: self.standard,
            section: self.section,
            text: text.to_string(),
            needs: self.needs.clone(),
            slapd: None,
            examine: Box::new(examine),
        });
        let clauses = &mut self.book.clauses;
        clauses.last_mut().expect("one was pushed just now")
    }
}
