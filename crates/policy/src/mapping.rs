//! Mapping of outside identities: which entry a certificate, a user of the system, a Kerberos
//! principal, a token or a SASL name stands for.
//!
//! Rules are tried in their order. The first one that matches decides: an identity for which it
//! finds no entry is refused, and no later rule is asked, so that an entry elsewhere cannot take a
//! name away. What a pattern captures is escaped before it becomes part of a name or filter.

pub mod certificate;
pub(crate) mod fuzz;
mod parse;
mod pattern;
mod template;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schema::{Name, Schema};

use crate::access::rules::Reach;
use pattern::{Captures, Matched, Pattern};
use template::Template;

/// The most rules of a directory.
pub const RULES_MAX: usize = 1_000;

/// The rule for SASL names and user ids of authorization identities (RFC 4513 §5.2.1.8) where no
/// rule is about them.
const BUILT_IN: (&str, &str) = ("built-in", "sasl name \"*\" in subtree \"\" where (uid=$1)");

/// The system that vouches for an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A certificate of TLS that the server has verified.
    Certificate,
    /// A user of the operating system, at the other end of a Unix socket.
    Unix,
    /// A principal of Kerberos.
    Kerberos,
    /// A token of an issuer of tokens.
    Token,
    /// The name of a SASL mechanism that proves it by a password of the directory.
    Sasl,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 5] = [
        Kind::Certificate,
        Kind::Unix,
        Kind::Kerberos,
        Kind::Token,
        Kind::Sasl,
    ];

    /// The word in rules.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Certificate => "certificate",
            Kind::Unix => "unix",
            Kind::Kerberos => "kerberos",
            Kind::Token => "token",
            Kind::Sasl => "sasl",
        }
    }

    /// The parts that an identity of the kind has; empty for a token, whose claims may have any
    /// name.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Kind::Certificate => &[
                "subject",
                "issuer",
                "mail",
                "dns",
                "uri",
                "upn",
                "fingerprint",
            ],
            Kind::Unix => &["uid"],
            Kind::Kerberos => &["principal"],
            Kind::Token => &[],
            Kind::Sasl => &["name"],
        }
    }
}

/// An identity that a system other than the directory has proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside<'i> {
    /// The kind of the system.
    pub kind: Kind,
    /// Names and values of the identity's parts, such as `mail` and `ada@example.com`. A name may
    /// come several times.
    pub parts: Vec<(Cow<'i, str>, Cow<'i, str>)>,
}

impl<'i> Outside<'i> {
    /// An identity without parts.
    pub fn of(kind: Kind) -> Outside<'i> {
        let parts = Vec::new();
        Outside { kind, parts }
    }

    /// This identity with another part.
    pub fn with(
        mut self,
        part: impl Into<Cow<'i, str>>,
        value: impl Into<Cow<'i, str>>,
    ) -> Outside<'i> {
        self.parts.push((part.into(), value.into()));
        self
    }
}

/// The answer of a rule about an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped<'m> {
    /// The name of the rule.
    pub rule: &'m str,
    /// The entry that the identity stands for.
    pub sought: Sought,
}

/// The entry that an identity stands for, before the directory is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sought {
    /// The entry with this name.
    Entry {
        /// The name.
        name: Name,
        /// Whether the patterns of the rule have no star, also none for RDNs.
        is_literal: bool,
    },
    /// The only entry there that matches a filter. More than one is as none.
    Search {
        /// The name of the base.
        base: Name,
        /// The entries below the base that count.
        reach: Reach,
        /// The filter, in BER (RFC 4511 §4.5.1.7).
        filter: Vec<u8>,
    },
}

/// All rules, in their order.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone)]
struct Rule {
    name: String,
    kind: Kind,
    conditions: Vec<Condition>,
    /// Whether no pattern has a star, also none for RDNs.
    is_literal: bool,
    result: Outcome,
}

/// A pattern for a part of the identity.
#[derive(Debug, Clone)]
struct Condition {
    part: String,
    pattern: Pattern,
}

/// The name or search that a rule makes of the captures of its patterns.
#[derive(Debug, Clone)]
enum Outcome {
    Entry(Template),
    Search {
        base: Name,
        reach: Reach,
        filter: Template,
    },
}

impl Mapping {
    /// Reads rules, each with its name and text, in the order in which they are tried. The built-in
    /// rule for SASL names comes last, unless another one is about such names.
    ///
    /// # Errors
    /// A message with the name of the rule that cannot be read, or means nothing under the schema.
    pub fn compile(schema: &Schema, rules: &[(&str, &str)]) -> Result<Mapping, String> {
        if rules.len() > RULES_MAX {
            let count = rules.len();
            return Err(format!("expected at most {RULES_MAX} rules, got {count}"));
        }
        let read = |(name, text): &(&str, &str)| {
            parse::rule(schema, name, text).map_err(|error| format!("{name}: {error}"))
        };
        let mut read: Vec<Rule> = rules.iter().map(read).collect::<Result<_, _>>()?;
        if !read.iter().any(|it| it.kind == Kind::Sasl) {
            let (name, text) = BUILT_IN;
            read.push(parse::rule(schema, name, text)?);
        }
        Ok(Mapping { rules: read })
    }

    /// Whether a rule is about identities of a kind.
    pub fn is_about(&self, kind: Kind) -> bool {
        self.rules.iter().any(|it| it.kind == kind)
    }

    /// The entry that an identity stands for, by the first rule that matches; `None` if none does.
    ///
    /// # Errors
    /// A message that says why the identity stands for no entry: a rule matches it in several ways,
    /// or in none that is certain.
    pub fn of(
        &self,
        schema: &Schema,
        identity: &Outside<'_>,
    ) -> Result<Option<Mapped<'_>>, String> {
        for rule in self.rules.iter().filter(|it| it.kind == identity.kind) {
            let captures = rule.captures(schema, identity);
            let found = captures.and_then(|it| it.map(|it| rule.sought(schema, &it)).transpose());
            match found {
                Ok(None) => {}
                Ok(Some(sought)) => {
                    let rule = &rule.name;
                    return Ok(Some(Mapped { rule, sought }));
                }
                Err(why) => return Err(format!("rule {}: {why}", rule.name)),
            }
        }
        Ok(None)
    }
}

impl Rule {
    /// Texts that the stars of all patterns stand for; `None` if a pattern does not match.
    fn captures(
        &self,
        schema: &Schema,
        identity: &Outside<'_>,
    ) -> Result<Option<Captures>, String> {
        let mut all = Captures::new();
        for Condition { part, pattern } in &self.conditions {
            let mut found: Option<Captures> = None;
            let values = identity.parts.iter().filter(|(name, _)| name == part);
            for (_, value) in values {
                match pattern.matches(schema, value) {
                    Matched::No => {}
                    Matched::Unknown(why) => return Err(format!("{part}: {why}")),
                    Matched::Yes(other) => {
                        if found.as_ref().is_some_and(|it| *it != other) {
                            let why = "expected one value that matches, got several";
                            return Err(format!("{part}: {why}"));
                        }
                        found = Some(other);
                    }
                }
            }
            match found {
                Some(found) => all.extend(found),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    fn sought(&self, schema: &Schema, captures: &Captures) -> Result<Sought, String> {
        match &self.result {
            Outcome::Entry(template) => {
                let text = template.filled(captures);
                let name = schema.resolve_name(&text);
                Ok(Sought::Entry {
                    name: name.map_err(|error| format!("\"{text}\": {error}"))?,
                    is_literal: self.is_literal,
                })
            }
            Outcome::Search {
                base,
                reach,
                filter,
            } => {
                let text = filter.filled(captures);
                let filter = protocol::parse_filter(&text);
                Ok(Sought::Search {
                    base: base.clone(),
                    reach: *reach,
                    filter: filter.map_err(|error| format!("\"{text}\": {}", error.message))?,
                })
            }
        }
    }
}
