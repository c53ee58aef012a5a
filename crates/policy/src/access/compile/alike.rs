//! Parts of rules that are the same: a fact that many rules depend on is one fact. And facts about
//! the whole set.

use std::collections::HashMap;

use super::CompiledRule;
use crate::access::objects::{Bits, ObjectSet};

/// Notes for each target and each condition the first one that is spelled alike.
pub(super) fn number(rules: &mut [CompiledRule]) {
    let mut targets: HashMap<String, usize> = HashMap::new();
    let mut subjects: HashMap<String, (usize, usize)> = HashMap::new();
    for (at, rule) in rules.iter_mut().enumerate() {
        let target = format!("{:?} {:?}", rule.source.targets, rule.source.filter);
        for (number, clause) in rule.clauses.iter_mut().enumerate() {
            let given = rule.source.clauses.get(number).map(|it| &it.subject);
            let key = match clause.has_captures {
                true => format!("{given:?} of {target}"),
                false => format!("{given:?}"),
            };
            clause.alike = *subjects.entry(key).or_insert((at, number));
        }
        rule.alike = *targets.entry(target).or_insert(at);
    }
}

/// Returns the attributes of which rules tell values apart.
pub(super) fn told_apart(rules: &[CompiledRule]) -> ObjectSet {
    let mut told = ObjectSet::default();
    for rule in rules {
        told.join(&rule.about.told_apart());
        let effects = rule.clauses.iter().flat_map(|it| &it.effects);
        let covers = effects.filter_map(|it| it.on.as_ref());
        covers.for_each(|it| told.join(&it.told_apart()));
    }
    told
}

/// Returns whether a condition depends on the time.
pub(super) fn tells_time(rules: &[CompiledRule]) -> bool {
    let mut tells = false;
    for clause in rules.iter().flat_map(|it| &it.clauses) {
        clause.subject.for_each_hours(&mut |_| tells = true);
    }
    tells
}
