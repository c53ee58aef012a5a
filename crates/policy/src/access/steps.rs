//! Results of walks over the rules, found again by the facts that the walks asked for.
//!
//! Which fact a walk asks for next, and what it comes to in the end, follows from the answers that
//! it has had. So walks are the paths of a tree: at each place a fact, one way on for each answer,
//! and a result at the end. A path that was walked once needs no rules any more.

use schema::Truth;

/// Places of one tree at most. A walk whose path does not fit is not kept.
pub(super) const PLACES_MAX: usize = 1024;

/// Something that walks ask about an entry. Targets that are spelled alike are one fact, and so are
/// conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fact {
    /// Whether the target of this rule matches.
    Target(usize),
    /// Whether the subject of this clause of this rule matches.
    Subject(usize, usize),
}

/// The facts that one walk asked for, in their order, with the answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trail(Vec<(Fact, Truth)>);

/// A tree of walks.
#[derive(Debug, Default)]
pub(super) struct Steps {
    places: Vec<Place>,
    /// Whether a walk did not fit: then no further one is tried.
    full: bool,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// No walk has ended or asked here yet.
    Unknown,
    Ask {
        fact: Fact,
        /// Numbers of the next places by [`way`]; 0, the number of the first place, for none.
        next: [u32; 3],
    },
    End(u32),
}

fn way(truth: Truth) -> usize {
    match truth {
        Truth::False => 0,
        Truth::Undefined => 1,
        Truth::True => 2,
    }
}

impl Trail {
    /// Number of the facts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, fact: Fact, truth: Truth) {
        self.0.push((fact, truth));
    }
}

impl Steps {
    /// Returns the result of the walk that these facts lead along; `None` if it is not known.
    #[inline]
    pub(super) fn follow(&self, mut ask: impl FnMut(Fact) -> Truth) -> Option<u32> {
        let mut at = 0;
        loop {
            match self.places.get(at)? {
                Place::End(result) => return Some(*result),
                Place::Unknown => return None,
                Place::Ask { fact, next } => {
                    at = next[way(ask(*fact))] as usize;
                    if at == 0 {
                        return None;
                    }
                }
            }
        }
    }

    /// Keeps the result of a walk, unless it needs too many places.
    pub(super) fn learn(&mut self, trail: &Trail, result: u32) {
        if self.places.len() + trail.0.len() + 1 > PLACES_MAX {
            self.full = true;
            return;
        }
        if self.places.is_empty() {
            self.places.push(Place::Unknown);
        }
        let mut at = 0;
        for (fact, truth) in &trail.0 {
            let fresh = self.places.len();
            if let Place::Unknown = self.places[at] {
                let next = [0; 3];
                self.places[at] = Place::Ask { fact: *fact, next };
            }
            let Place::Ask { fact: asked, next } = &mut self.places[at] else {
                debug_assert!(false, "a walk goes on where another one has ended");
                return;
            };
            debug_assert_eq!(asked, fact, "walks with the same answers ask the same");
            let next = &mut next[way(*truth)];
            at = match *next {
                0 => {
                    *next = fresh as u32;
                    self.places.push(Place::Unknown);
                    fresh
                }
                known => known as usize,
            };
        }
        self.places[at] = Place::End(result);
    }

    /// Returns whether no further walk may fit.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Number of its places.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(truths: &[Truth]) -> Trail {
        let asked = truths.iter().enumerate();
        Trail(asked.map(|(at, it)| (Fact::Target(at), *it)).collect())
    }

    #[test]
    fn a_walk_is_found_by_its_answers() {
        let mut steps = Steps::default();
        let (yes, no) = (Truth::True, Truth::False);
        let follow = |steps: &Steps, truths: &[Truth]| {
            steps.follow(|fact| match fact {
                Fact::Target(at) => truths[at],
                Fact::Subject(..) => unreachable!("no walk asks for it"),
            })
        };
        assert_eq!(follow(&steps, &[]), None);
        steps.learn(&trail(&[yes, no]), 7);
        steps.learn(&trail(&[no]), 8);
        steps.learn(&trail(&[yes, Truth::Undefined]), 9);
        assert_eq!(follow(&steps, &[yes, no]), Some(7));
        assert_eq!(follow(&steps, &[no]), Some(8));
        assert_eq!(follow(&steps, &[yes, Truth::Undefined]), Some(9));
        assert_eq!(follow(&steps, &[yes, yes]), None);
        assert_eq!(follow(&steps, &[Truth::Undefined]), None);
        let mut known = Steps::default();
        known.learn(&trail(&[]), 3);
        assert_eq!(follow(&known, &[]), Some(3));
    }

    /// However many different walks there are, the tree stays small.
    #[test]
    fn a_tree_has_a_limited_size() {
        let mut steps = Steps::default();
        for number in 0..4096_u32 {
            let bits = (0..12).map(|bit| match number >> bit & 1 {
                0 => Truth::False,
                _ => Truth::True,
            });
            steps.learn(&trail(&bits.collect::<Vec<_>>()), number);
        }
        assert!(steps.len() <= PLACES_MAX, "{}", steps.len());
    }
}
