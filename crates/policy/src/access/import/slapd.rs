//! Rules of OpenLDAP's slapd (slapd.access(5)), from slapd.conf or `olcAccess`.
//!
//! What keeps the result from giving more:
//! - a directive about entries or attributes that cannot be said here becomes one about more of
//!   them that gives nothing;
//! - a `by` clause for somebody who cannot be said here is left out, and what the clauses behind it
//!   give is cut down to what it gave;
//! - a database that lies in another one ends with a rule that gives nothing, as slapd asks no
//!   rules of the outer one about its entries;
//! - in the place of a file whose text is not here, nothing more is given, unless its name is that
//!   of a schema;
//! - what is given to everybody, to users or to nobody in particular gives no secrets, unless the
//!   directive names them.

mod clauses;
mod databases;
#[cfg(test)]
mod model;
mod regex;
mod rights;
#[cfg(test)]
mod tests;
mod text;
mod what;
mod who;

use schema::Schema;

use crate::access::compile::without_idle;
use crate::access::import::{Fate, Import, ReportLine, everything, nothing, own_rules};
use crate::access::rules::{About, Rule, Target};
use crate::access::sets;
use crate::secrets::Secrets;
use clauses::{ByClause, Clauses};
use databases::Part;
use text::{Configuration, Given};
use what::Context;

/// Carries over the `access` directives of a slapd.conf. Files that it includes are not read: put
/// their text in the place of the line.
pub fn of_conf(schema: &Schema, secrets: &Secrets, text: &str) -> Import {
    import(Context { schema, secrets }, text::of_conf(text))
}

/// Carries over the `olcAccess` values in the LDIF of `cn=config`.
///
/// # Errors
/// What is wrong with the LDIF.
pub fn of_config(schema: &Schema, secrets: &Secrets, ldif: &str) -> Result<Import, String> {
    let configuration = text::of_config(ldif)?;
    Ok(import(Context { schema, secrets }, configuration))
}

fn import(context: Context<'_>, configuration: Configuration) -> Import {
    let mut carrier = Carrier {
        import: Import {
            // There every client may use every control.
            rules: own_rules(sets::builtin()),
            report: Vec::new(),
        },
        context,
        handed_on: false,
        number: 0,
    };
    for part in databases::parts(carrier.context.schema, configuration) {
        match part {
            Part::Line { given, suffixes } => match given {
                Given::Directive(words) => carrier.directive(&words, &suffixes),
                Given::File(name) => carrier.file(name, &suffixes),
            },
            Part::Lost { given } => carrier.lost(given),
            Part::End { suffixes } => carrier.end(what::database(&suffixes)),
        }
    }
    if carrier.handed_on {
        carrier.end(vec![Target::Everything]);
    }
    let Carrier { mut import, .. } = carrier;
    without_idle(
        carrier.context.schema,
        carrier.context.secrets,
        &mut import.rules,
    );
    import
}

/// An import under way.
struct Carrier<'c> {
    context: Context<'c>,
    import: Import,
    /// Whether a former rule may have given something and handed on.
    handed_on: bool,
    /// Number of the last line that was carried over.
    number: usize,
}

impl Carrier<'_> {
    fn directive(&mut self, words: &[String], suffixes: &[String]) {
        self.number += 1;
        let name = format!("slapd-{}", self.number);
        let begin = usize::from(words.first().is_some_and(|it| it == "to"));
        let is_by = |it: &String| it.eq_ignore_ascii_case("by");
        let end = words.iter().position(is_by).unwrap_or(words.len());
        let what = self.context.what(&words[begin.min(end)..end], suffixes);
        let mut clauses = Clauses::new(self.handed_on, &what);
        let given = words[end..].split(is_by).filter(|it| !it.is_empty());
        for by in given {
            let (fate, note) = match &what.wider {
                Some(reason) => (Fate::Impossible, reason.clone()),
                None if what.never => {
                    let note = "it means no entry of its database";
                    (Fate::Carried, note.to_owned())
                }
                None => clauses.add(ByClause::read(&self.context, by, &what.groups)),
            };
            let (fate, note) = match (fate, &what.narrower) {
                (Fate::Carried, Some(reason)) => (Fate::Approximated, reason.clone()),
                _ => (fate, note),
            };
            self.import.report.push(ReportLine {
                rule: name.clone(),
                given: format!(
                    "to {} by {}",
                    words[begin.min(end)..end].join(" "),
                    by.join(" ")
                ),
                fate,
                note,
            });
        }
        if what.never {
            return;
        }
        let clauses = match what.wider {
            Some(_) => vec![nothing()],
            None => clauses.end(&mut self.handed_on),
        };
        self.import.rules.push(Rule {
            name,
            within: None,
            targets: what.targets,
            filter: what.filter,
            about: what.about,
            clauses,
        });
    }

    /// Notes a file whose text is not here: its rules might take what those behind it give.
    fn file(&mut self, name: String, suffixes: &[String]) {
        let is_schema = name.ends_with(".schema");
        self.number += 1;
        let rule = format!("slapd-{}", self.number);
        self.import.report.push(ReportLine {
            rule: rule.clone(),
            given: format!("include {name}"),
            fate: Fate::Impossible,
            note: match is_schema {
                true => "the file is not here; by its name it has no rules",
                false => {
                    "the file is not here, so nothing is given from here on: put its text in the \
                     place of the line"
                }
            }
            .to_owned(),
        });
        if !is_schema {
            self.import.rules.push(end(rule, what::database(suffixes)));
        }
    }

    /// Notes a line of a database without entries.
    fn lost(&mut self, given: Given) {
        self.number += 1;
        self.import.report.push(ReportLine {
            rule: format!("slapd-{}", self.number),
            given: match given {
                Given::Directive(words) => words.join(" "),
                Given::File(name) => format!("include {name}"),
            },
            fate: Fate::Impossible,
            note: "its database has no suffix that this schema knows, and so no entries".to_owned(),
        });
    }

    /// Ends what is asked about some entries: who was handed on as far as here has nothing.
    fn end(&mut self, targets: Vec<Target>) {
        self.number += 1;
        let name = format!("slapd-{}-end", self.number);
        self.import.rules.push(end(name, targets));
    }
}

/// Returns a rule that gives nothing of entries.
fn end(name: String, targets: Vec<Target>) -> Rule {
    Rule {
        name,
        within: None,
        targets,
        filter: None,
        about: About::Items(everything()),
        clauses: vec![nothing()],
    }
}
