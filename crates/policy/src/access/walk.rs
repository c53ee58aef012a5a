//! The walk over rules that makes decisions, for many rights or many objects at once.
//!
//! What is undefined is judged both ways: a right is *surely* given only if every way in which the
//! undefined facts could turn out gives it, and *perhaps* given if one might. The walk keeps the
//! least and the most that can be given at each place, so it is linear in the clauses.

use schema::Truth;

use crate::access::objects::Bits;
use crate::access::rules::{Place, Then};

/// The members of a set that are surely in it, and those that may be. The latter have the former.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span<B> {
    /// In the set, however the undefined facts turn out.
    pub(super) surely: B,
    /// In the set, if undefined facts turn out so.
    pub(super) perhaps: B,
}

impl<B: Bits> Span<B> {
    pub(super) fn of(set: B) -> Span<B> {
        Span {
            surely: set.clone(),
            perhaps: set,
        }
    }

    /// Adds members; what is surely added is surely in the set.
    pub(super) fn join(&mut self, other: &Span<B>) {
        self.surely.join(&other.surely);
        self.perhaps.join(&other.perhaps);
    }

    /// Removes members; only what is perhaps not removed stays.
    fn remove(&mut self, other: &Span<B>) {
        self.surely.remove(&other.perhaps);
        self.perhaps.remove(&other.surely);
    }

    fn within(&self, set: &B) -> Span<B> {
        Span {
            surely: self.surely.within(set),
            perhaps: self.perhaps.within(set),
        }
    }

    /// Makes this what holds if it is not known which of the two holds.
    fn blur(&mut self, other: &Span<B>) {
        self.surely.meet(&other.surely);
        self.perhaps.join(&other.perhaps);
    }
}

/// Rules as the walk sees them: with the truth of their conditions, and what they are about.
pub(super) trait Judged<B> {
    /// Number of rules.
    fn rules(&self) -> usize;
    /// What a rule is about.
    fn about(&self, rule: usize) -> Span<B>;
    /// Whether the target of a rule matches.
    fn target(&mut self, rule: usize) -> Truth;
    /// Number of clauses in a rule.
    fn clauses(&self, rule: usize) -> usize;
    /// What a clause is: for whom its condition is asked by [`Judged::subject`].
    fn clause(&self, at: Place) -> Clause<B>;
    /// Whether the subject of a clause matches.
    fn subject(&mut self, at: Place) -> Truth;
    /// Takes note of a step of the walk.
    fn note(&mut self, step: Step) {
        let _ = step;
    }
}

/// A clause as the walk sees it.
pub(super) struct Clause<B> {
    pub(super) denies: bool,
    pub(super) then: Then,
    /// What it gives or takes.
    pub(super) effect: Span<B>,
}

/// A step of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The rule is not about any of it.
    NotAbout(usize),
    /// The target of the rule was judged.
    Target(usize, Truth),
    /// The subject of a clause was judged.
    Subject(Place, Truth),
    /// A clause gave or took some of it; `then` tells whether what it took stays denied.
    Effect { at: Place, denies: bool, then: Then },
    /// The decision ended here in one way.
    End { at: Option<Place>, allowed: bool },
}

/// What a walk has given and denied so far.
#[derive(Clone, Default)]
struct State<B> {
    granted: Span<B>,
    /// What stays denied, by clauses that gather.
    denied: Span<B>,
}

impl<B: Bits> State<B> {
    fn after(&self, clause: &Clause<B>, effect: &Span<B>) -> State<B> {
        let mut state = self.clone();
        match (clause.denies, clause.then) {
            (false, _) => state.granted.join(effect),
            (true, Then::Gather) => state.denied.join(effect),
            (true, _) => state.granted.remove(effect),
        }
        state
    }

    fn blur(&mut self, other: &State<B>) {
        self.granted.blur(&other.granted);
        self.denied.blur(&other.denied);
    }

    fn result(&self) -> Span<B> {
        let mut result = self.granted.clone();
        result.remove(&self.denied);
        result
    }
}

/// Walks over all rules and returns which of `all` is given.
pub(super) fn walk<B: Bits>(judged: &mut impl Judged<B>, all: &B) -> Span<B> {
    let mut walk = Walk {
        judged,
        live: all.clone(),
        state: State::default(),
        result: Span {
            surely: all.clone(),
            perhaps: B::default(),
        },
    };
    for rule in 0..walk.judged.rules() {
        if walk.live.has_none() {
            break;
        }
        walk.rule(rule);
    }
    if !walk.live.has_none() {
        let (live, state) = (walk.live.clone(), walk.state.clone());
        walk.end(None, &live, &state);
    }
    walk.result
}

struct Walk<'j, B, J> {
    judged: &'j mut J,
    /// What some way has not ended for.
    live: B,
    /// What holds for it.
    state: State<B>,
    /// What the ways that ended give.
    result: Span<B>,
}

/// What leaves a rule for the next ones.
struct Leaving<B> {
    bits: B,
    state: State<B>,
}

impl<B: Bits> Leaving<B> {
    fn add(&mut self, bits: &B, state: &State<B>) {
        let both = bits.within(&self.bits);
        let fresh = bits.without(&self.bits);
        let ours = [&mut self.state.granted, &mut self.state.denied];
        for (own, other) in ours.into_iter().zip([&state.granted, &state.denied]) {
            own.surely.remove(&both.without(&other.surely));
            own.surely.join(&other.surely.within(&fresh));
            own.perhaps.join(&other.perhaps.within(bits));
        }
        self.bits.join(bits);
    }
}

impl<B: Bits, J: Judged<B>> Walk<'_, B, J> {
    fn rule(&mut self, rule: usize) {
        let about = self.judged.about(rule).within(&self.live);
        if about.perhaps.has_none() {
            self.judged.note(Step::NotAbout(rule));
            return;
        }
        let target = self.judged.target(rule);
        self.judged.note(Step::Target(rule, target));
        if target == Truth::False {
            return;
        }
        let mut leaving = Leaving {
            bits: B::default(),
            state: State::default(),
        };
        // Where it is not known whether the rule matches, it may also be passed by.
        let passing = match target {
            Truth::True => about.perhaps.without(&about.surely),
            _ => about.perhaps.clone(),
        };
        leaving.add(&passing, &self.state);
        self.clauses(rule, about.perhaps.clone(), &mut leaving);
        let Leaving { bits, state } = leaving;
        let outside = self.live.without(&about.perhaps);
        for (own, left) in [
            (&mut self.state.granted, &state.granted),
            (&mut self.state.denied, &state.denied),
        ] {
            *own = own.within(&outside);
            own.join(&left.within(&bits));
        }
        self.live = outside;
        self.live.join(&bits);
    }

    fn clauses(&mut self, rule: usize, mut inside: B, leaving: &mut Leaving<B>) {
        let mut state = self.state.clone();
        let mut gathers = false;
        for clause in 0..self.judged.clauses(rule) {
            let at = Place {
                rule,
                clause: Some(clause),
            };
            let seen = self.judged.clause(at);
            gathers |= seen.then == Then::Gather;
            if inside.has_none() {
                continue;
            }
            let truth = self.judged.subject(at);
            self.judged.note(Step::Subject(at, truth));
            if truth == Truth::False {
                continue;
            }
            let effect = seen.effect.within(&inside);
            if !effect.perhaps.has_none() {
                let (denies, then) = (seen.denies, seen.then);
                self.judged.note(Step::Effect { at, denies, then });
            }
            let after = state.after(&seen, &effect);
            match seen.then {
                Then::Stop => self.end(Some(at), &inside, &after),
                Then::NextRule => leaving.add(&inside, &after),
                Then::Continue | Then::Gather if truth == Truth::True => state = after,
                Then::Continue | Then::Gather => state.blur(&after),
            }
            let ends = matches!(seen.then, Then::Stop | Then::NextRule);
            if ends && truth == Truth::True {
                inside = B::default();
            }
        }
        if inside.has_none() {
            return;
        }
        match gathers {
            true => leaving.add(&inside, &state),
            false => self.end(Some(Place { rule, clause: None }), &inside, &state),
        }
    }

    /// Notes that one way ends for these.
    fn end(&mut self, at: Option<Place>, bits: &B, state: &State<B>) {
        let given = state.result().within(bits);
        let allowed = !given.surely.has_none();
        self.judged.note(Step::End { at, allowed });
        self.result.surely.remove(&bits.without(&given.surely));
        self.result.perhaps.join(&given.perhaps);
    }
}
