//! Compares the events of a node with the model, in order.

use super::events::Event;
use super::model::{Circumstances, Model, Verdict};
use protocol::ResultCode;
use schema::Schema;
use state::write::{Change, Write};
use std::collections::BTreeMap;

pub(super) struct Judge {
    /// State after the last committed record.
    pub model: Model,
    /// Digest of the state after each record.
    pub digests: BTreeMap<u64, u128>,
    /// The last record that was ordered.
    tried: Option<Tried>,
    /// Whether the log gave a record no place in the order since this was looked at.
    pub refused: bool,
    /// State after the record under way, which a crash may also have left.
    maybe: Option<Model>,
}

struct Tried {
    after: Model,
    verdicts: Vec<Verdict>,
    ended: Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    NotYet,
    Committed,
    Forgotten,
    /// The log gave it no place.
    Unordered,
}

/// Conditions under which a node worked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conditions {
    /// The disk failed, so writes may have failed.
    pub failed: bool,
    /// The node takes no more writes, and a record may be done or not.
    pub halted: bool,
}

impl Judge {
    pub fn new(model: Model, digest: u128) -> Judge {
        Judge {
            digests: BTreeMap::from([(model.position, digest)]),
            model,
            tried: None,
            maybe: None,
            refused: false,
        }
    }

    /// Checks results and state after a step.
    pub fn hear(&mut self, events: Vec<Event>, schema: &Schema, conditions: Conditions) {
        let mut events = events.into_iter();
        while let Some(event) = events.next() {
            match event {
                Event::Ordered {
                    position,
                    time_us,
                    now_us,
                    units,
                } => {
                    let at = Circumstances {
                        schema,
                        time_us,
                        now_us,
                    };
                    self.order(position, &units, at);
                }
                Event::NoPlace => {
                    self.refused = true;
                    self.tried = Some(Tried {
                        after: self.model.clone(),
                        verdicts: Vec::new(),
                        ended: Ended::Unordered,
                    });
                }
                Event::Forgotten { position } => self.forgotten(position, conditions),
                Event::Committed { position, digest } => self.committed(position, digest),
                Event::Answered { codes, position } => self.answered(&codes, position, conditions),
                Event::Rehearsed { .. } if conditions.halted => {}
                Event::Rehearsed { write, code } => self.rehearsed(&write, code, schema),
                Event::Cut => return self.cut(events.next(), conditions),
            }
        }
    }

    fn order(&mut self, position: u64, units: &[Vec<Write>], at: Circumstances<'_>) {
        assert_eq!(position, self.model.position + 1, "positions are dense");
        let mut after = self.model.clone();
        let verdicts = after.execute(units, at);
        after.position = position;
        let done = units
            .iter()
            .zip(&verdicts)
            .filter(|it| it.1.reasons.is_empty());
        let changes = done.map(|it| it.0.len() as u32).sum();
        after.changes.insert(position, changes);
        self.tried = Some(Tried {
            after,
            verdicts,
            ended: Ended::NotYet,
        });
    }

    fn committed(&mut self, position: u64, digest: u128) {
        let tried = self.tried.as_mut().expect("a record was ordered");
        assert_eq!(
            position, tried.after.position,
            "the record has its position"
        );
        let may = tried.verdicts.iter().any(Verdict::may_succeed);
        assert!(
            may,
            "record {position} changed something: {:?}",
            tried.verdicts
        );
        tried.ended = Ended::Committed;
        self.model = tried.after.clone();
        self.digests.insert(position, digest);
    }

    fn forgotten(&mut self, position: u64, conditions: Conditions) {
        let tried = self.tried.as_mut().expect("a record was ordered");
        assert_eq!(
            position, tried.after.position,
            "only the last record is forgotten"
        );
        let must = tried.verdicts.iter().any(|it| it.reasons.is_empty());
        assert!(
            !must || conditions.failed,
            "record {position} was forgotten: {:?}",
            tried.verdicts
        );
        tried.ended = Ended::Forgotten;
    }

    fn answered(&self, codes: &[ResultCode], position: Option<u64>, conditions: Conditions) {
        let failed =
            |code: &ResultCode| [ResultCode::OTHER, ResultCode::UNAVAILABLE].contains(code);
        let Some(tried) = &self.tried else {
            assert!(
                conditions.failed && codes.iter().all(failed),
                "answers without a record"
            );
            return;
        };
        if tried.ended == Ended::Unordered || (conditions.failed && codes.iter().all(failed)) {
            assert!(codes.iter().all(failed), "no place in the order: {codes:?}");
            assert_eq!(position, None, "no place in the order");
            return;
        }
        assert_ne!(
            tried.ended,
            Ended::NotYet,
            "an answer comes after the commit"
        );
        assert_eq!(
            position,
            Some(self.model.position),
            "the position of the answers"
        );
        assert_eq!(
            codes.len(),
            tried.verdicts.len(),
            "one result for each unit"
        );
        for (code, verdict) in codes.iter().zip(&tried.verdicts) {
            assert!(verdict.allows(*code), "{code:?} instead of {verdict:?}");
            let succeeded = *code == ResultCode::SUCCESS;
            assert!(
                !succeeded || tried.ended == Ended::Committed,
                "done and not committed"
            );
        }
    }

    fn rehearsed(&self, write: &Write, code: ResultCode, schema: &Schema) {
        if matches!(write.change, Change::Attempts(_)) {
            return;
        }
        let at = Circumstances {
            schema,
            time_us: 0,
            now_us: 0,
        };
        let verdict = self.model.clone().write(write, at);
        let code = match code {
            ResultCode::NO_OPERATION => ResultCode::SUCCESS,
            code => code,
        };
        assert!(
            verdict.allows(code),
            "a no-op write: {code:?} instead of {verdict:?}"
        );
    }

    /// The power was cut; `next` is the next event of the doomed node.
    fn cut(&mut self, next: Option<Event>, conditions: Conditions) {
        let under_way = self.tried.take().filter(|it| match it.ended {
            Ended::NotYet => true,
            Ended::Forgotten => conditions.halted,
            Ended::Committed | Ended::Unordered => false,
        });
        self.maybe = under_way.map(|it| it.after);
        // The state after the record, if the record survived.
        if let (Some(Event::Committed { position, digest }), Some(_)) = (next, &self.maybe) {
            self.digests.insert(position, digest);
        }
    }

    /// A node recovered this state after a crash.
    pub fn recovered(&mut self, position: u64, digest: u128) {
        let maybe = self.maybe.take();
        if position != self.model.position {
            let survived = maybe.filter(|it| it.position == position);
            self.model = survived.unwrap_or_else(|| {
                let last = self.model.position;
                panic!("position {position} after a crash instead of {last}")
            });
        }
        self.digests.retain(|it, _| *it <= position);
        let known = *self.digests.entry(position).or_insert(digest);
        assert_eq!(
            digest, known,
            "the digest at position {position} after a crash"
        );
    }
}
