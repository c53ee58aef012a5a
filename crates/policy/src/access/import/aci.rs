//! Access control instructions of 389 Directory Server (its Administration Guide, "Managing access
//! control"), from the `aci` values of an LDIF.
//!
//! All instructions count at once there, and what one denies stays denied: each becomes a rule of
//! one clause that gathers. What keeps the result from giving more: where a part of an instruction
//! cannot be said here, one that allows means fewer subjects and entries, one that denies means
//! more.

mod bind;
#[cfg(test)]
mod tests;
mod text;
mod what;

use protocol::ldif::{LdifReader, LdifRecord};
use schema::Schema;

use crate::access::compile::without_idle;
use crate::access::import::{Fate, Import, ReportLine, everything, nothing, own_rules};
use crate::access::right::{Right, RightWord};
use crate::access::rules::{About, Clause, Grant, Rule, Target, Then};
use crate::access::sets;
use crate::secrets::Secrets;
use text::Instruction;

/// Carries over the `aci` values of the entries in an LDIF.
///
/// # Errors
/// What is wrong with the LDIF.
pub fn of_entries(schema: &Schema, secrets: &Secrets, ldif: &str) -> Result<Import, String> {
    let context = Context { schema, secrets };
    let mut import = Import {
        rules: own_rules(sets::default()),
        report: Vec::new(),
    };
    let mut reader = LdifReader::new(ldif.as_bytes());
    while let Some(record) = reader.next_record() {
        let LdifRecord::Entry { dn, attributes } = record.map_err(|error| error.to_string())?
        else {
            return Err("expected entries, got changes of entries".to_owned());
        };
        for (attribute, value) in &attributes {
            if attribute.eq_ignore_ascii_case("aci") {
                context.carry(dn, &String::from_utf8_lossy(value), &mut import);
            }
        }
    }
    Ok(import)
}

/// What names and attributes are understood with.
struct Context<'c> {
    schema: &'c Schema,
    secrets: &'c Secrets,
}

/// What cannot be said here of one instruction.
#[derive(Debug, Default)]
struct Missing(Vec<String>);

impl Missing {
    fn note(&mut self, part: &str) {
        let note = format!("{part} has no equivalent");
        if !self.0.contains(&note) {
            self.0.push(note);
        }
    }
}

impl Context<'_> {
    /// Carries over one value, which has a rule for each of its permissions.
    fn carry(&self, dn: &str, value: &str, import: &mut Import) {
        let mut line = ReportLine {
            rule: format!("aci-{}", import.report.len() + 1),
            given: value.to_owned(),
            fate: Fate::Impossible,
            note: String::new(),
        };
        match Instruction::parse(value) {
            None => {
                line.note = "it cannot be read".to_owned();
                // An instruction that denies must not be lost.
                if value.to_ascii_lowercase().contains("deny") {
                    import.rules.push(closed(&line.rule, dn));
                }
            }
            Some(instruction) => {
                let mut missing = Missing::default();
                let before = import.rules.len();
                for (part, permission) in instruction.permissions.iter().enumerate() {
                    let name = match part {
                        0 => line.rule.clone(),
                        _ => format!("{}-{}", line.rule, part + 1),
                    };
                    let rule = self.rule(name, dn, &instruction, permission, &mut missing);
                    let mut rules = Vec::from_iter(rule);
                    without_idle(self.schema, self.secrets, &mut rules);
                    rules.retain(|it| !it.clauses.is_empty());
                    import.rules.extend(rules);
                }
                line.fate = match (missing.0.is_empty(), import.rules.len() > before) {
                    (true, _) => Fate::Carried,
                    (false, true) => Fate::Approximated,
                    (false, false) => Fate::Impossible,
                };
                line.note = missing.0.join("; ");
            }
        }
        import.report.push(line);
    }

    /// Returns the rule of one permission; `None` if it gives nothing here.
    fn rule(
        &self,
        name: String,
        dn: &str,
        instruction: &Instruction,
        permission: &text::Permission,
        missing: &mut Missing,
    ) -> Option<Rule> {
        let denies = permission.denies;
        let subject = self.subject(&permission.bind, denies, missing);
        let what = self.what(dn, instruction, denies, missing)?;
        let attributes = what.attributes.as_deref();
        let rights = what::grants(&permission.rights, attributes, denies, missing);
        let clause = |subject, rights| Clause {
            denies,
            subject,
            rights,
            then: Then::Gather,
        };
        let for_adding = bind::for_adding(&permission.bind);
        let adds = |it: &Grant| it.right == RightWord::One(Right::Add);
        let differs = for_adding != permission.bind && !denies && rights.iter().any(adds);
        let mut clauses = match differs {
            false => vec![clause(subject, rights)],
            true => {
                let (adding, rest) = rights.into_iter().partition(adds);
                let adder = self.subject(&for_adding, denies, missing);
                vec![clause(subject, rest), clause(adder, adding)]
            }
        };
        clauses.retain(|it| !it.rights.is_empty() && it.subject != bind::never());
        if clauses.is_empty() {
            return None;
        }
        Some(Rule {
            name,
            within: None,
            targets: what.targets,
            filter: what.filter,
            about: About::Items(everything()),
            clauses,
        })
    }
}

/// Returns a rule that denies everything that an instruction at an entry can be about.
fn closed(name: &str, dn: &str) -> Rule {
    let (reach, dn) = (what::reach(dn), dn.to_owned());
    Rule {
        name: name.to_owned(),
        within: None,
        targets: vec![Target::Below { reach, dn }],
        filter: None,
        about: About::Items(everything()),
        clauses: vec![Clause {
            then: Then::Gather,
            ..nothing()
        }],
    }
}
