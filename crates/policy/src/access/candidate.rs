//! A candidate: rules that may be in force later, and judge beside those in force until then.

use std::hash::{DefaultHasher, Hash, Hasher};

use schema::Schema;

use crate::access::compile::{CompileError, RuleSet};
use crate::access::parse::parse;
use crate::access::rules::Rule;
use crate::access::sets;
use crate::secrets::Secrets;

/// Share of a serving thread's time that judging takes at most, in percent, unless another is
/// given.
const SHARE: u8 = 3;

/// Two sets of rules: those in force, and those that would be.
#[derive(Debug)]
pub struct Candidate {
    /// The rules that would be in force.
    pub rules: RuleSet,
    /// The rules in force; the built-in ones as a set where the directory has none of its own.
    pub in_force: RuleSet,
    /// Share of a serving thread's time that judging takes at most, in percent: 1 to 100.
    pub share: u8,
    /// A number that is equal for equal pairs of sets, under any schema.
    pub pair: u64,
}

impl Candidate {
    /// Reads the text of rules, and a share. `in_force` is `None` where the built-in rules are.
    ///
    /// # Errors
    /// The text cannot be read or means nothing under the schema, or the share is no percentage.
    pub fn read(
        schema: &Schema,
        secrets: &Secrets,
        text: &str,
        share: Option<&str>,
        in_force: Option<&RuleSet>,
    ) -> Result<Candidate, String> {
        let rules = parse(text).map_err(|error| error.to_string())?.rules;
        if rules.is_empty() {
            return Err("expected access rules, got none".to_owned());
        }
        let share = read_share(share)?;
        let compiled = Candidate::compile(schema, secrets, &rules, in_force, share);
        compiled.map_err(|error| error.to_string())
    }

    fn compile(
        schema: &Schema,
        secrets: &Secrets,
        rules: &[Rule],
        in_force: Option<&RuleSet>,
        share: u8,
    ) -> Result<Candidate, CompileError> {
        let in_force = match in_force {
            Some(it) => it.clone(),
            None => RuleSet::compile(schema, secrets, &sets::builtin())?,
        };
        let mut pair = DefaultHasher::new();
        for rule in in_force.rules() {
            rule.to_string().hash(&mut pair);
        }
        "candidate".hash(&mut pair);
        rules.iter().for_each(|it| it.to_string().hash(&mut pair));
        Ok(Candidate {
            rules: RuleSet::compile(schema, secrets, rules)?,
            in_force,
            share,
            pair: pair.finish(),
        })
    }

    /// Returns the same under a schema that has additional attribute numbers; `None` if the rules
    /// mean nothing there.
    pub fn under(
        &self,
        schema: &Schema,
        secrets: &Secrets,
        in_force: Option<&RuleSet>,
    ) -> Option<Candidate> {
        let rules: Vec<Rule> = self.rules.rules().cloned().collect();
        Candidate::compile(schema, secrets, &rules, in_force, self.share).ok()
    }
}

/// Reads a share in percent.
fn read_share(text: Option<&str>) -> Result<u8, String> {
    let Some(text) = text else { return Ok(SHARE) };
    let share = text.parse().ok().filter(|it| (1..=100).contains(it));
    share.ok_or_else(|| format!("expected a share of 1 to 100 percent, got {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        assert_eq!(read_share(None), Ok(SHARE));
        assert_eq!(read_share(Some("1")), Ok(1));
        assert_eq!(read_share(Some("100")), Ok(100));
        for text in ["0", "101", "-1", "much"] {
            let error = read_share(Some(text)).unwrap_err();
            assert!(error.ends_with(&format!("got {text}")), "{error}");
        }
    }

    #[test]
    fn pairs_of_sets_are_told_apart_by_either() {
        let schema = Schema::standard();
        let secrets = Secrets::of(&schema, &[]);
        let rules = |gives: &str| {
            let text = format!("rule a\non everything\nlet users {gives}");
            parse(&text).unwrap().rules
        };
        let (one, other) = (rules("read"), rules("search"));
        let set = |it: &[Rule]| RuleSet::compile(&schema, &secrets, it).unwrap();
        let pair = |in_force: Option<&[Rule]>, rules: &[Rule]| {
            let in_force = in_force.map(set);
            let pair = Candidate::compile(&schema, &secrets, rules, in_force.as_ref(), SHARE);
            pair.unwrap().pair
        };
        let first = pair(Some(&one), &other);
        assert_eq!(first, pair(Some(&one), &other));
        for differs in [
            pair(Some(&other), &one),
            pair(Some(&one), &one),
            pair(None, &other),
        ] {
            assert_ne!(first, differs);
        }
    }
}
