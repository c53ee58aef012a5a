//! Conditions on subjects, with every name resolved, and their truth.
//!
//! A condition is judged in two steps: once for a subject ([`Condition::bind`]), which leaves only
//! what depends on an entry, and then for entries ([`Condition::judge`]).

use schema::{Filter, Name, Truth, TypeId};

use crate::access::facts::{Asker, EntryFacts, Group, Identity, Origin, Role, SubjectFacts};
use crate::access::hours::Hours;
use crate::access::pattern::{Captures, NamePattern};
use crate::access::rules::Reach;
use crate::access::words::Way;
use crate::network::Network;

/// A resolved condition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    Known(Truth),
    Anonymous(Role),
    Users(Role),
    Administrator(Role),
    Own(Role),
    Below(Role, Reach, Name),
    Pattern(Role, NamePattern),
    Group(Role, Group),
    Named(Role, TypeId),
    NamedAbove(Role, TypeId),
    Having(Role, Filter),
    From(Network),
    FromLocal,
    Via(Way),
    At(Hours),
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// Returns what is left of the condition for one subject: only what depends on an entry.
    pub(super) fn bind(&self, asker: &Asker, facts: &dyn SubjectFacts) -> Condition {
        match self {
            Condition::Not(inner) => not(inner.bind(asker, facts)),
            Condition::All(parts) => all(parts.iter().map(|it| it.bind(asker, facts))),
            Condition::Any(parts) => any(parts.iter().map(|it| it.bind(asker, facts))),
            one => match one.of_subject(asker, facts) {
                Some(truth) => Condition::Known(truth),
                None => one.clone(),
            },
        }
    }

    /// Returns the truth of a condition without parts; `None` if it depends on an entry.
    fn of_subject(&self, asker: &Asker, facts: &dyn SubjectFacts) -> Option<Truth> {
        let about_name =
            |role: Role, test: &dyn Fn(&Name) -> Truth| Some(asker.about_name(role, test));
        match self {
            Condition::Known(truth) => Some(*truth),
            Condition::Anonymous(role) => Some(negated(asker.about_name(*role, |_| Truth::True))),
            Condition::Users(role) => Some(asker.about_name(*role, |_| Truth::True)),
            Condition::Administrator(role) => {
                let identity = asker.identity(*role);
                let administrator = matches!(identity, Identity::Administrator(_));
                about_name(*role, &|_| administrator.into())
            }
            Condition::Below(role, reach, name) => {
                about_name(*role, &|it| reaches(*reach, name, it).into())
            }
            Condition::Pattern(role, pattern) if pattern.highest_capture() == 0 => {
                about_name(*role, &|it| pattern.judge(it, &[]).truth())
            }
            Condition::Group(role, group) => about_name(*role, &|it| facts.is_member(it, group)),
            Condition::Having(role, filter) => about_name(*role, &|it| facts.matches(it, filter)),
            Condition::From(network) => Some(match asker.origin {
                Origin::Socket => Truth::False,
                Origin::Address(address) => network.contains(address).into(),
                Origin::Unknown => Truth::Undefined,
            }),
            Condition::FromLocal => Some(match asker.origin {
                Origin::Socket => Truth::True,
                Origin::Address(address) => address.to_canonical().is_loopback().into(),
                Origin::Unknown => Truth::Undefined,
            }),
            Condition::Via(way) => Some(asker.ways.truth(*way)),
            Condition::At(hours) => Some(match asker.minute {
                Some(minute) => hours.contains(minute).into(),
                None => Truth::Undefined,
            }),
            // Nobody's entry is the target, and no entry names nobody.
            Condition::Own(role)
            | Condition::Named(role, _)
            | Condition::NamedAbove(role, _)
            | Condition::Pattern(role, _) => match asker.identity(*role).name() {
                Some(_) => None,
                None => Some(asker.about_name(*role, |_| Truth::Undefined)),
            },
            Condition::Not(_) | Condition::All(_) | Condition::Any(_) => None,
        }
    }

    /// Returns the truth of a bound condition for an entry. `captures` is what the stars of the
    /// rule's target stand for, `None` if that is not known.
    pub(super) fn judge(
        &self,
        asker: &Asker,
        entry: &dyn EntryFacts,
        captures: Option<&Captures>,
    ) -> Truth {
        let about_name = |role: &Role, test: &dyn Fn(&Name) -> Truth| asker.about_name(*role, test);
        match self {
            Condition::Known(truth) => *truth,
            Condition::Own(role) => about_name(role, &|it| entry.is_named(it)),
            Condition::Named(role, attribute) => {
                about_name(role, &|it| entry.names(*attribute, it))
            }
            Condition::NamedAbove(role, attribute) => {
                about_name(role, &|it| entry.superior_names(*attribute, it))
            }
            Condition::Pattern(role, pattern) => about_name(role, &|it| match captures {
                Some(captures) => pattern.judge(it, captures).truth(),
                None => Truth::Undefined,
            }),
            Condition::Not(inner) => negated(inner.judge(asker, entry, captures)),
            Condition::All(parts) => {
                let mut judged = parts.iter().map(|it| it.judge(asker, entry, captures));
                least(&mut judged)
            }
            Condition::Any(parts) => {
                let judged = parts.iter().map(|it| it.judge(asker, entry, captures));
                negated(least(&mut judged.map(negated)))
            }
            // Binding leaves none of these.
            _ => Truth::Undefined,
        }
    }

    /// Returns the truth for every entry of a region, if it is known: `owned` tells whether an
    /// identity's own entry is every entry of the region, or none.
    pub(super) fn judge_region(&self, owned: &dyn Fn(Role) -> Truth) -> Truth {
        match self {
            Condition::Known(truth) => *truth,
            Condition::Own(role) => owned(*role),
            Condition::Not(inner) => negated(inner.judge_region(owned)),
            Condition::All(parts) => least(&mut parts.iter().map(|it| it.judge_region(owned))),
            Condition::Any(parts) => {
                let judged = parts.iter().map(|it| it.judge_region(owned));
                negated(least(&mut judged.map(negated)))
            }
            _ => Truth::Undefined,
        }
    }

    /// Returns the truth for somebody who has not authenticated, wherever they come from.
    pub(super) fn judge_anonymous(&self) -> Truth {
        match self {
            Condition::Known(truth) => *truth,
            Condition::Anonymous(Role::Acting) => Truth::True,
            Condition::From(_) | Condition::FromLocal | Condition::Via(_) | Condition::At(_) => {
                Truth::Undefined
            }
            Condition::Not(inner) => negated(inner.judge_anonymous()),
            Condition::All(parts) => least(&mut parts.iter().map(Condition::judge_anonymous)),
            Condition::Any(parts) => {
                let judged = parts.iter().map(|it| negated(it.judge_anonymous()));
                negated(least(&mut { judged }))
            }
            about_name if about_name.is_real() => Truth::Undefined,
            _ => Truth::False,
        }
    }

    /// Returns whether the condition is about the identity that authenticated.
    fn is_real(&self) -> bool {
        match self {
            Condition::Anonymous(role)
            | Condition::Users(role)
            | Condition::Administrator(role)
            | Condition::Own(role)
            | Condition::Below(role, ..)
            | Condition::Pattern(role, _)
            | Condition::Group(role, _)
            | Condition::Named(role, _)
            | Condition::NamedAbove(role, _)
            | Condition::Having(role, _) => *role == Role::Real,
            _ => false,
        }
    }

    /// Returns whether the condition depends on what the stars of a target stand for.
    pub(super) fn has_captures(&self) -> bool {
        match self {
            Condition::Pattern(_, pattern) => pattern.highest_capture() > 0,
            Condition::Not(inner) => inner.has_captures(),
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().any(Condition::has_captures)
            }
            _ => false,
        }
    }

    /// Calls `visit` with the times that the condition depends on.
    pub(super) fn for_each_hours(&self, visit: &mut dyn FnMut(&Hours)) {
        match self {
            Condition::At(hours) => visit(hours),
            Condition::Not(inner) => inner.for_each_hours(visit),
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().for_each(|it| it.for_each_hours(visit));
            }
            _ => (),
        }
    }
}

/// Returns whether `name` lies where `reach` says, seen from `base`.
pub(super) fn reaches(reach: Reach, base: &Name, name: &Name) -> bool {
    match reach {
        Reach::Entry => name == base,
        Reach::One => name.depth() == base.depth() + 1 && name.is_within(base),
        Reach::Children => name.depth() > base.depth() && name.is_within(base),
        Reach::Subtree => name.is_within(base),
    }
}

pub(super) fn negated(truth: Truth) -> Truth {
    match truth {
        Truth::True => Truth::False,
        Truth::False => Truth::True,
        Truth::Undefined => Truth::Undefined,
    }
}

/// Returns the truth of all together: false if one is, else undefined if one is. Asks no more than
/// it needs.
fn least(parts: &mut dyn Iterator<Item = Truth>) -> Truth {
    let mut least = Truth::True;
    for part in parts {
        match part {
            Truth::False => return Truth::False,
            Truth::Undefined => least = Truth::Undefined,
            Truth::True => (),
        }
    }
    least
}

fn not(inner: Condition) -> Condition {
    match inner {
        Condition::Known(truth) => Condition::Known(negated(truth)),
        open => Condition::Not(Box::new(open)),
    }
}

fn all(parts: impl Iterator<Item = Condition>) -> Condition {
    joined(parts, Truth::False, Condition::All)
}

fn any(parts: impl Iterator<Item = Condition>) -> Condition {
    joined(parts, Truth::True, Condition::Any)
}

/// Joins conditions of which one with the truth `strong` decides; those that cannot change the
/// whole are left out.
fn joined(
    parts: impl Iterator<Item = Condition>,
    strong: Truth,
    join: fn(Vec<Condition>) -> Condition,
) -> Condition {
    let mut left = Vec::new();
    for part in parts {
        match part {
            Condition::Known(truth) if truth == strong => return Condition::Known(strong),
            Condition::Known(truth) if truth == negated(strong) => (),
            open => left.push(open),
        }
    }
    match left.len() {
        0 => Condition::Known(negated(strong)),
        1 => left.remove(0),
        _ if left.iter().all(|it| matches!(it, Condition::Known(_))) => left.remove(0),
        _ => join(left),
    }
}
