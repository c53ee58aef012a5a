//! What clients of a cluster asked for and heard, and the judgement whether all of it can be true
//! of one directory.
//!
//! Writes carry their positions, the order in which the cluster says that it executed them. So no
//! search for an order is needed: the one told must agree with the clock of the test and with all
//! reads.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Answer to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Success, with the position of the write.
    Done(u64),
    /// A result that says that nothing was changed.
    Refused,
    /// No result: the connection ended or the client lost its patience.
    Unknown,
}

/// When a client sent a request, and when it had the answer or gave up.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub begun: Instant,
    pub ended: Instant,
}

/// A write that sets a register to a value that no other write has.
#[derive(Debug, Clone)]
pub struct Set {
    pub register: usize,
    pub value: String,
    pub span: Span,
    pub fate: Fate,
}

/// A read of a register that insists on the newest state.
#[derive(Debug, Clone)]
pub struct Read {
    pub register: usize,
    pub value: Option<String>,
    pub span: Span,
}

/// All that clients did.
#[derive(Debug, Default)]
pub struct History {
    pub sets: Vec<Set>,
    pub reads: Vec<Read>,
    /// Names of entries that were added once each.
    pub added: Vec<(String, Fate)>,
    /// Increments of the counter by one.
    pub increments: Vec<Fate>,
}

/// The directory in the end, the same on all nodes.
#[derive(Debug, Default)]
pub struct End {
    pub registers: Vec<Option<String>>,
    pub names: BTreeSet<String>,
    pub counter: usize,
}

impl History {
    /// Takes over what another client did.
    pub fn append(&mut self, mut other: History) {
        self.sets.append(&mut other.sets);
        self.reads.append(&mut other.reads);
        self.added.append(&mut other.added);
        self.increments.append(&mut other.increments);
    }

    /// Numbers of writes that were done, refused and not answered.
    pub fn count(&self) -> [usize; 3] {
        let sets = self.sets.iter().map(|it| it.fate);
        let added = self.added.iter().map(|it| it.1);
        let mut count = [0; 3];
        for fate in sets.chain(added).chain(self.increments.iter().copied()) {
            count[match fate {
                Fate::Done(_) => 0,
                Fate::Refused => 1,
                Fate::Unknown => 2,
            }] += 1;
        }
        count
    }

    /// Everything that cannot be, given the end; empty if all is well.
    pub fn judge(&self, end: &End) -> Vec<String> {
        let mut wrong = Vec::new();
        self.judge_order(&mut wrong);
        self.judge_reads(&mut wrong);
        self.judge_registers(end, &mut wrong);
        self.judge_names(end, &mut wrong);
        self.judge_counter(end, &mut wrong);
        wrong
    }

    /// A write that ended before another one began has no later position.
    fn judge_order(&self, wrong: &mut Vec<String>) {
        let mut done: Vec<(u64, &Set)> = self.sets.iter().filter_map(|it| it.done()).collect();
        done.sort_by_key(|it| std::cmp::Reverse(it.0));
        let mut first_end: Option<(u64, &Set)> = None;
        for same in done.chunk_by(|a, b| a.0 == b.0) {
            for (position, set) in same {
                if let Some((later, early)) = first_end
                    && early.span.ended < set.span.begun
                {
                    wrong.push(format!(
                        "{:?} at {later} ended before {:?} at {position} began",
                        early.value, set.value
                    ));
                }
            }
            let ended = same
                .iter()
                .chain(&first_end)
                .min_by_key(|it| it.1.span.ended);
            first_end = ended.copied();
        }
    }

    /// A read that insists shows a value at least as new as every write and read that ended before.
    fn judge_reads(&self, wrong: &mut Vec<String>) {
        let by_value: BTreeMap<&str, &Set> =
            self.sets.iter().map(|it| (it.value.as_str(), it)).collect();
        // Times at which a register was known to have a value of this position or a later one.
        let mut known: Vec<(Instant, usize, u64)> = Vec::new();
        for set in &self.sets {
            let position = set.done().map(|it| it.0);
            known.extend(position.map(|it| (set.span.ended, set.register, it)));
        }
        let mut seen = Vec::new();
        for read in &self.reads {
            let set = read.value.as_deref().map(|it| by_value.get(it));
            match set {
                Some(None) => wrong.push(format!("{read:?} shows a value that nobody wrote")),
                Some(Some(set)) if set.fate == Fate::Refused => {
                    wrong.push(format!("{read:?} shows a refused write"));
                }
                // The position of a write without an answer is not known.
                Some(Some(set)) if set.fate == Fate::Unknown => {}
                Some(Some(set)) => seen.extend(set.done().map(|it| (read, it.0))),
                None => seen.push((read, 0)),
            }
        }
        known.extend(
            seen.iter()
                .map(|(read, it)| (read.span.ended, read.register, *it)),
        );
        known.sort_unstable();
        seen.sort_by_key(|it| it.0.span.begun);
        let mut newest: BTreeMap<usize, u64> = BTreeMap::new();
        let mut known = known.into_iter().peekable();
        for (read, position) in seen {
            while let Some((_, register, it)) = known.next_if(|it| it.0 < read.span.begun) {
                let newest = newest.entry(register).or_default();
                *newest = it.max(*newest);
            }
            let least = newest.get(&read.register).copied().unwrap_or(0);
            if position < least {
                wrong.push(format!(
                    "{read:?} shows position {position}, expected {least}"
                ));
            }
        }
    }

    fn judge_registers(&self, end: &End, wrong: &mut Vec<String>) {
        for (register, value) in end.registers.iter().enumerate() {
            let of = self.sets.iter().filter(|it| it.register == register);
            let last = of.clone().filter_map(Set::done).map(|it| it.0).max();
            let set = of.clone().find(|it| Some(&it.value) == value.as_ref());
            let is_right = match set.map(|it| it.fate) {
                Some(Fate::Done(position)) => Some(position) == last,
                Some(Fate::Unknown) => true,
                Some(Fate::Refused) => false,
                None => value.is_none() && last.is_none(),
            };
            if !is_right {
                let expected = of.filter(|it| it.done().map(|it| it.0) == last);
                let expected: Vec<&str> = expected.map(|it| it.value.as_str()).collect();
                wrong.push(format!(
                    "register {register} ends with {value:?}, the last writes are {expected:?}"
                ));
            }
        }
    }

    fn judge_names(&self, end: &End, wrong: &mut Vec<String>) {
        for (name, fate) in &self.added {
            match (fate, end.names.contains(name)) {
                (Fate::Done(_), false) => {
                    wrong.push(format!("{name} was acknowledged and is lost"))
                }
                (Fate::Refused, true) => wrong.push(format!("{name} was refused and is there")),
                _ => {}
            }
        }
    }

    fn judge_counter(&self, end: &End, wrong: &mut Vec<String>) {
        let done = self
            .increments
            .iter()
            .filter(|it| matches!(it, Fate::Done(_)));
        let least = done.count();
        let unknown = self.increments.iter().filter(|it| **it == Fate::Unknown);
        let most = least + unknown.count();
        if !(least..=most).contains(&end.counter) {
            wrong.push(format!(
                "the counter is {}, expected {least} to {most}",
                end.counter
            ));
        }
    }
}

impl Set {
    /// The position with the write, if the write was done.
    fn done(&self) -> Option<(u64, &Set)> {
        match self.fate {
            Fate::Done(position) => Some((position, self)),
            Fate::Refused | Fate::Unknown => None,
        }
    }
}

/// Times in milliseconds after one moment.
struct Clock(Instant);

impl Clock {
    fn span(&self, begun: u64, ended: u64) -> Span {
        let at = |ms| self.0 + std::time::Duration::from_millis(ms);
        Span {
            begun: at(begun),
            ended: at(ended),
        }
    }

    fn set(&self, value: &str, span: [u64; 2], fate: Fate) -> Set {
        Set {
            register: 0,
            value: value.to_owned(),
            span: self.span(span[0], span[1]),
            fate,
        }
    }

    fn read(&self, value: &str, span: [u64; 2]) -> Read {
        Read {
            register: 0,
            value: Some(value.to_owned()),
            span: self.span(span[0], span[1]),
        }
    }
}

fn ends_with(value: &str) -> End {
    End {
        registers: vec![Some(value.to_owned())],
        ..End::default()
    }
}

#[test]
fn a_history_that_can_be_is_not_blamed() {
    let clock = Clock(Instant::now());
    let history = History {
        sets: vec![
            clock.set("a", [0, 10], Fate::Done(1)),
            // At the same time as the next one, and one with it in a record.
            clock.set("b", [11, 30], Fate::Done(2)),
            clock.set("c", [12, 20], Fate::Done(2)),
            clock.set("d", [31, 40], Fate::Unknown),
            clock.set("e", [31, 40], Fate::Refused),
        ],
        reads: vec![
            clock.read("a", [11, 12]),
            clock.read("c", [31, 33]),
            clock.read("d", [41, 43]),
        ],
        added: vec![
            ("x".to_owned(), Fate::Done(3)),
            ("y".to_owned(), Fate::Unknown),
        ],
        increments: vec![Fate::Done(4), Fate::Unknown, Fate::Refused],
    };
    for (counter, value) in [(1, "d"), (2, "c")] {
        let end = End {
            names: BTreeSet::from(["x".to_owned()]),
            counter,
            ..ends_with(value)
        };
        assert_eq!(history.judge(&end), [""; 0]);
    }
}

#[test]
fn each_fault_of_a_history_is_found() {
    let clock = Clock(Instant::now());
    let sets = vec![
        clock.set("a", [0, 10], Fate::Done(1)),
        clock.set("b", [11, 20], Fate::Done(2)),
        clock.set("c", [21, 30], Fate::Refused),
    ];
    let history = |reads: Vec<Read>| History {
        sets: sets.clone(),
        reads,
        ..History::default()
    };
    let end = ends_with("b");
    assert_eq!(history(Vec::new()).judge(&end).len(), 0);
    // An old value, a refused one, one that nobody wrote, one older than another read's.
    for reads in [
        vec![clock.read("a", [21, 22])],
        vec![clock.read("c", [31, 32])],
        vec![clock.read("z", [31, 32])],
        vec![clock.read("b", [12, 13]), clock.read("a", [14, 15])],
    ] {
        assert_eq!(history(reads.clone()).judge(&end).len(), 1, "{reads:?}");
    }
    // An acknowledged write that another one before it replaced, and one that was refused.
    for value in ["a", "c"] {
        assert_eq!(history(Vec::new()).judge(&ends_with(value)).len(), 1);
    }
    let mut reordered = history(Vec::new());
    reordered.sets[0].fate = Fate::Done(3);
    assert_eq!(reordered.judge(&ends_with("a")).len(), 1);
    let of_names = History {
        added: vec![
            ("x".to_owned(), Fate::Done(1)),
            ("y".to_owned(), Fate::Refused),
        ],
        increments: vec![Fate::Done(2)],
        ..History::default()
    };
    let end = End {
        names: BTreeSet::from(["y".to_owned()]),
        counter: 2,
        ..End::default()
    };
    assert_eq!(of_names.judge(&end).len(), 3);
}
