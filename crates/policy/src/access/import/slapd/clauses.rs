//! `by` clauses as clauses of a rule that give the same or less.

use super::rights::{Change, Level, Privileges};
use super::what::{Context, What};
use crate::access::import::{Fate, nothing};
use crate::access::right::{Right, RightWord};
use crate::access::rules::{Clause, Grant, Item, Then, Things, Who};

/// A `by` clause.
pub(super) struct ByClause {
    /// Who it is for, or which word of it has no equivalent.
    who: Result<Who, String>,
    level: Level,
    then: Then,
}

impl ByClause {
    /// Reads the words behind `by`.
    pub(super) fn read(context: &Context<'_>, words: &[String], groups: &[usize]) -> ByClause {
        let mut words = words;
        let mut then = Then::Stop;
        if let Some((last, before)) = words.split_last() {
            let control = match last.to_ascii_lowercase().as_str() {
                "stop" => Some(Then::Stop),
                "continue" => Some(Then::Continue),
                "break" => Some(Then::NextRule),
                _ => None,
            };
            if let Some(control) = control {
                (then, words) = (control, before);
            }
        }
        let mut level = Level::UNCHANGED;
        if let Some((last, before)) = words.split_last()
            && !before.is_empty()
            && let Some(read) = Level::parse(last)
        {
            (level, words) = (read, before);
        }
        ByClause {
            who: context.who(words, groups),
            level,
            then,
        }
    }
}

/// The clauses of one rule, as far as they are made.
pub(super) struct Clauses {
    clauses: Vec<Clause>,
    /// Whether the rule is about everything of an entry.
    whole: bool,
    /// Whether it is about the entry itself or the place below it.
    tree: bool,
    /// Whether something may have been given before, by this rule or one that handed on.
    given: bool,
    /// Whether something may have been handed on to the next rules.
    handed_on: bool,
    /// Most that further clauses may give.
    most: Privileges,
    /// Whether nothing more may be given.
    ended: bool,
}

impl Clauses {
    pub(super) fn new(handed_on: bool, what: &What) -> Clauses {
        Clauses {
            clauses: Vec::new(),
            whole: what.whole,
            tree: what.tree,
            given: handed_on,
            handed_on,
            most: Privileges::ALL,
            ended: false,
        }
    }

    /// Adds a clause; returns what became of it.
    pub(super) fn add(&mut self, by: ByClause) -> (Fate, String) {
        if self.ended {
            let note = "a clause before it has no equivalent, so the rule gives nothing more";
            return (Fate::Impossible, note.to_owned());
        }
        match by.who {
            Ok(who) => self.known(who, by.level, by.then),
            Err(reason) => {
                self.unknown(by.level, by.then);
                (Fate::Impossible, reason)
            }
        }
    }

    fn known(&mut self, who: Who, level: Level, then: Then) -> (Fate, String) {
        if then == Then::NextRule && self.most != Privileges::ALL {
            // Somebody unknown, for whom an earlier clause ends, must not go on to the next rules,
            // and to end here could give others more than those do.
            self.ended = true;
            let note = "a clause before it has no equivalent, so the rule ends here";
            return (Fate::Impossible, note.to_owned());
        }
        let privileges = match level.change {
            Change::Remove => level.privileges,
            Change::Assign | Change::Add => level.privileges & self.most,
        };
        if level.change == Change::Assign && self.given {
            // Here what was given stays until it is taken.
            self.clauses.push(Clause {
                subject: who.clone(),
                then: Then::Continue,
                ..nothing()
            });
        }
        let broad = self.whole && is_broad(&who);
        let items: Vec<Item> = match broad {
            true => [Things::Entry, Things::Children, Things::All]
                .map(Item::Only)
                .to_vec(),
            false => Vec::new(),
        };
        let mut rights = match level.change {
            Change::Remove => privileges.takes(),
            _ if level.of_self => own_value(privileges),
            _ => privileges.grants(&items, self.tree),
        };
        if rights.is_empty() {
            rights.push(Grant {
                only: false,
                right: RightWord::None,
                items: Vec::new(),
            });
        }
        self.clauses.push(Clause {
            denies: level.change == Change::Remove,
            subject: who,
            rights,
            then,
        });
        let gives = level.change != Change::Remove && !privileges.is_empty();
        self.given |= gives && then == Then::Continue;
        self.handed_on |= (gives || self.given) && then == Then::NextRule;
        let note = match () {
            () if privileges != level.privileges => "cut down to what a clause before it gave",
            () if level.of_self => "only for adding and deleting the subject's own name",
            () if broad && gives => "without secrets",
            () => return (Fate::Carried, String::new()),
        };
        (Fate::Approximated, note.to_owned())
    }

    /// Leaves out a clause for somebody unknown, who must not get more by the clauses behind it.
    fn unknown(&mut self, level: Level, then: Then) {
        let nothing_before = !self.given;
        match (then, level.change) {
            (Then::Stop, Change::Add) => self.most = self.most & level.privileges,
            (Then::Stop, Change::Assign) if nothing_before => {
                self.most = self.most & level.privileges;
            }
            (Then::Continue, Change::Add) => (),
            (Then::Continue, _) if nothing_before => (),
            _ => self.ended = true,
        }
    }

    /// Ends the rule as slapd does, with nothing for everybody else; `handed_on` tells afterwards
    /// whether something may have been handed on to the next rules.
    pub(super) fn end(mut self, handed_on: &mut bool) -> Vec<Clause> {
        *handed_on = self.handed_on;
        let ends = |it: &Clause| it.subject == Who::Anyone && it.then != Then::Continue;
        let complete = self.clauses.last().is_some_and(ends);
        if self.ended || !complete {
            self.clauses.push(nothing());
        }
        self.clauses
    }
}

/// Returns the rights of `selfwrite`: to one's own name as a value.
fn own_value(privileges: Privileges) -> Vec<Grant> {
    let grant = Grant {
        only: false,
        right: RightWord::One(Right::SelfValue),
        items: Vec::new(),
    };
    Vec::from_iter(privileges.has("az").then_some(grant))
}

/// Returns whether a condition means subjects that nothing is known about but that they came.
fn is_broad(who: &Who) -> bool {
    match who {
        Who::Anyone | Who::Anonymous | Who::Users => true,
        Who::From(_) | Who::FromLocal | Who::Via(_) => true,
        Who::Real(inner) => is_broad(inner),
        Who::All(parts) | Who::Any(parts) => parts.iter().all(is_broad),
        _ => false,
    }
}
