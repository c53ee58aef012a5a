//! Decisions in which two sets of rules differ, counted by rules, subject and operation. In memory
//! only, and bounded.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Attribute with a number of requests.
const COUNT: &str = "monitorCounter";
/// Kinds of differences that are counted at most; those beyond count together.
const KINDS_MAX: usize = 200;
/// Examples that are kept of each kind.
const EXAMPLES_MAX: usize = 5;

/// A kind of difference: requests that differ in these are counted separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Difference {
    /// The operation, as [`protocol::Request::name`] names it.
    pub operation: &'static str,
    /// The subject's kind: `anonymous`, `self` at its own entry, `users`.
    pub subject: &'static str,
    /// The right in the language of access rules.
    pub right: &'static str,
    /// Whether the rules in force give the right; the candidate decides the contrary.
    pub allowed: bool,
    /// The deciding rule and clause of the rules in force.
    pub rule: String,
    /// The deciding rule and clause of the candidate.
    pub candidate: String,
}

/// The kinds of differences in one request, each with an example.
pub(crate) type Differing = Vec<(Difference, String)>;

/// Requests with one kind of difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    /// Number of requests.
    requests: u64,
    /// The first ones, as questions that `pando access explain` takes.
    examples: Vec<String>,
}

/// Numbers of requests that were judged by two sets of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tally {
    /// Judged requests.
    judged: u64,
    /// Requests that were not judged, to save time.
    left_out: u64,
    /// Requests with a difference.
    different: u64,
    /// Differences of kinds that are not in the list, because it is full.
    unlisted: u64,
}

/// An entry below `cn=monitor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownEntry {
    /// Name without `cn=monitor`.
    pub name: String,
    /// The structural object class.
    pub class: &'static str,
    /// Attributes with their values.
    pub values: Vec<(&'static str, Vec<String>)>,
}

/// Counts of the differences between one pair of sets of rules. Locked for each judged request.
#[derive(Debug, Default)]
pub struct Differences {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// The pair of sets, as [`policy::access::candidate::Candidate::pair`] numbers it.
    pair: u64,
    tally: Tally,
    kinds: HashMap<Difference, Found>,
}

impl Differences {
    /// Adds a request that was judged by a pair of sets, with an example of each difference. Counts
    /// for another pair are forgotten. `None` for a request that asked nothing: it is not counted.
    pub(crate) fn note(&self, pair: u64, left_out: u64, found: Option<Differing>) {
        let mut counted = self.counted();
        if counted.pair != pair {
            *counted = Counted {
                pair,
                ..Counted::default()
            };
        }
        let Counted { tally, kinds, .. } = &mut *counted;
        tally.left_out += left_out;
        let Some(found) = found else { return };
        tally.judged += 1;
        tally.different += u64::from(!found.is_empty());
        for (kind, example) in found {
            if kinds.len() >= KINDS_MAX && !kinds.contains_key(&kind) {
                tally.unlisted += 1;
                continue;
            }
            let found = kinds.entry(kind).or_default();
            found.requests += 1;
            let is_new = !found.examples.contains(&example);
            if is_new && found.examples.len() < EXAMPLES_MAX {
                found.examples.push(example);
            }
        }
    }

    /// Returns the counts for a pair of sets as entries below `cn=monitor`, superiors first.
    pub fn shown(&self, pair: u64) -> Vec<ShownEntry> {
        let (tally, kinds) = self.of(pair);
        let mut all = vec![ShownEntry {
            name: "cn=Candidate".to_owned(),
            class: "monitorContainer",
            values: Vec::new(),
        }];
        for (name, count) in [
            ("Judged Requests", tally.judged),
            ("Requests Left Out", tally.left_out),
            ("Different Requests", tally.different),
            ("Unlisted Differences", tally.unlisted),
        ] {
            all.push(ShownEntry {
                name: format!("cn={name},cn=Candidate"),
                class: "monitorCounterObject",
                values: vec![(COUNT, vec![count.to_string()])],
            });
        }
        for (at, (it, found)) in kinds.into_iter().enumerate() {
            let decided = if it.allowed { "allowed" } else { "refused" };
            let mut values = vec![(COUNT, vec![found.requests.to_string()])];
            for (attribute, text) in [
                ("pandoDifferenceOperation", it.operation.to_owned()),
                ("pandoDifferenceSubject", it.subject.to_owned()),
                ("pandoDifferenceRight", it.right.to_owned()),
                ("pandoDifferenceDecided", decided.to_owned()),
                ("pandoDifferenceRule", it.rule),
                ("pandoDifferenceCandidateRule", it.candidate),
            ] {
                values.push((attribute, vec![text]));
            }
            values.push(("pandoDifferenceExample", found.examples));
            all.push(ShownEntry {
                name: format!("cn=Difference {},cn=Candidate", at + 1),
                class: "pandoAccessDifference",
                values,
            });
        }
        all
    }

    /// Returns the counts for a pair of sets: numbers, and the kinds of differences, most frequent
    /// first.
    fn of(&self, pair: u64) -> (Tally, Vec<(Difference, Found)>) {
        let counted = self.counted();
        if counted.pair != pair {
            return (Tally::default(), Vec::new());
        }
        let (tally, kinds) = (counted.tally.clone(), counted.kinds.iter());
        let mut kinds: Vec<_> = kinds
            .map(|(it, found)| (it.clone(), found.clone()))
            .collect();
        drop(counted);
        kinds.sort_by(|(a, one), (b, other)| {
            let by_rules = || (&a.rule, &a.candidate).cmp(&(&b.rule, &b.candidate));
            let by_asked =
                || (a.operation, a.subject, a.right).cmp(&(b.operation, b.subject, b.right));
            other
                .requests
                .cmp(&one.requests)
                .then_with(by_rules)
                .then_with(by_asked)
        });
        (tally, kinds)
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(rule: &str) -> Difference {
        Difference {
            operation: "search",
            subject: "users",
            right: "read",
            allowed: true,
            rule: rule.to_owned(),
            candidate: "rule b".to_owned(),
        }
    }

    #[test]
    fn differences_are_counted_with_their_first_examples() {
        let differences = Differences::default();
        for at in 0..10 {
            differences.note(
                1,
                3,
                Some(vec![(difference("a"), format!("example {}", at / 2))]),
            );
        }
        differences.note(1, 0, Some(vec![]));
        differences.note(1, 0, None);
        let (tally, kinds) = differences.of(1);
        assert_eq!(
            (tally.judged, tally.left_out, tally.different),
            (11, 30, 10)
        );
        assert_eq!(kinds.len(), 1);
        assert_eq!(kinds[0].1.requests, 10);
        let examples: Vec<String> = (0..EXAMPLES_MAX)
            .map(|it| format!("example {it}"))
            .collect();
        assert_eq!(kinds[0].1.examples, examples);
    }

    #[test]
    fn counts_belong_to_one_pair_of_sets() {
        let differences = Differences::default();
        differences.note(1, 0, Some(vec![(difference("a"), String::new())]));
        assert_eq!(differences.of(2), (Tally::default(), vec![]));
        differences.note(2, 0, Some(vec![]));
        assert_eq!(differences.of(1), (Tally::default(), vec![]));
        let (tally, kinds) = differences.of(2);
        assert_eq!((tally.judged, tally.different, kinds.len()), (1, 0, 0));
    }

    #[test]
    fn kinds_beyond_the_list_count_together() {
        let differences = Differences::default();
        let all = (0..KINDS_MAX + 3).map(|at| (difference(&at.to_string()), String::new()));
        differences.note(1, 0, Some(all.collect()));
        differences.note(1, 0, Some(vec![(difference("1"), String::new())]));
        let (tally, kinds) = differences.of(1);
        assert_eq!((tally.unlisted, kinds.len()), (3, KINDS_MAX));
        assert_eq!((&*kinds[0].0.rule, kinds[0].1.requests), ("1", 2));
    }
}
