//! Rules of OpenLDAP's slapd (slapd.access(5)), from slapd.conf or `olcAccess`.
//!
//! What keeps the result from giving more:
//! - a directive about entries or attributes that cannot be said here becomes one about more of
//!   them that gives nothing;
//! - a `by` clause for somebody who cannot be said here is left out, and what the clauses behind it
//!   give is cut down to what it gave;
//! - what is given to everybody, to users or to nobody in particular gives no secrets, unless the
//!   directive names them.

mod clauses;
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
use text::Directive;
use what::Context;

/// Carries over the `access` directives of a slapd.conf without `include`.
pub fn of_conf(schema: &Schema, secrets: &Secrets, text: &str) -> Import {
    import(&Context { schema, secrets }, text::of_conf(text))
}

/// Carries over the `olcAccess` values in the LDIF of `cn=config`.
///
/// # Errors
/// What is wrong with the LDIF.
pub fn of_config(schema: &Schema, secrets: &Secrets, ldif: &str) -> Result<Import, String> {
    let directives = text::of_config(ldif)?;
    Ok(import(&Context { schema, secrets }, directives))
}

fn import(context: &Context<'_>, directives: Vec<Directive>) -> Import {
    let mut import = Import {
        // There every client may use every control.
        rules: own_rules(sets::builtin()),
        report: Vec::new(),
    };
    // Whether a former rule may have given something and handed on.
    let mut handed_on = false;
    for (number, directive) in directives.iter().enumerate() {
        let name = format!("slapd-{}", number + 1);
        let words = &directive.words;
        let begin = usize::from(words.first().is_some_and(|it| it == "to"));
        let is_by = |it: &String| it.eq_ignore_ascii_case("by");
        let end = words.iter().position(is_by).unwrap_or(words.len());
        let what = context.what(&words[begin.min(end)..end], &directive.suffixes);
        let mut clauses = Clauses::new(handed_on, &what);
        let given = words[end..].split(is_by).filter(|it| !it.is_empty());
        for by in given {
            let (fate, note) = match &what.wider {
                Some(reason) => (Fate::Impossible, reason.clone()),
                None if what.never => {
                    let note = "it means no entry of its database";
                    (Fate::Carried, note.to_owned())
                }
                None => clauses.add(ByClause::read(context, by, &what.groups)),
            };
            import.report.push(ReportLine {
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
            continue;
        }
        let clauses = match what.wider {
            Some(_) => vec![nothing()],
            None => clauses.end(&mut handed_on),
        };
        import.rules.push(Rule {
            name,
            targets: what.targets,
            filter: what.filter,
            about: what.about,
            clauses,
        });
    }
    if handed_on {
        import.rules.push(last());
    }
    without_idle(context.schema, context.secrets, &mut import.rules);
    import
}

/// Returns the rule at which slapd's list ends: who was handed on as far as here has nothing.
fn last() -> Rule {
    Rule {
        name: "slapd-end".to_owned(),
        targets: vec![Target::Everything],
        filter: None,
        about: About::Items(everything()),
        clauses: vec![nothing()],
    }
}
