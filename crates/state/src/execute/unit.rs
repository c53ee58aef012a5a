//! Execution of a unit: one write, or the writes of a transaction, all or none.
//!
//! One write needs no savepoint, because a refused write changes nothing. In a transaction a write
//! depends on earlier writes and cannot be checked before these are applied, so all are applied
//! after a savepoint, to which execution rolls back if one is refused.

use super::{Execution, GivenNumber};
use crate::stop::Stop;
use crate::write::Unit;
use protocol::{LdapResult, OwnedControl};

/// The outcome of a write.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result for the client.
    pub result: LdapResult,
    /// The response controls that execution makes, e.g. the entry before or after.
    pub controls: Vec<OwnedControl>,
}

impl From<LdapResult> for Outcome {
    fn from(result: LdapResult) -> Outcome {
        Outcome {
            result,
            controls: Vec::new(),
        }
    }
}

/// The outcome of a unit.
#[derive(Debug, Clone)]
pub struct Done {
    /// The result, and the response controls of a single write.
    pub outcome: Outcome,
    /// Index of the refused write; `None` if none was refused.
    pub at: Option<usize>,
    /// Response controls of each write of a transaction.
    pub controls: Vec<Vec<OwnedControl>>,
    /// Numbers given to entries of the unit.
    pub given: Vec<GivenNumber>,
}

impl From<LdapResult> for Done {
    fn from(result: LdapResult) -> Done {
        Done {
            outcome: result.into(),
            at: None,
            controls: Vec::new(),
            given: Vec::new(),
        }
    }
}

/// Failure of a unit.
#[derive(Debug)]
pub struct Broken {
    /// Index of the write that failed.
    pub at: usize,
    /// The refusal or the failure.
    pub stop: Stop,
}

impl Execution<'_, '_> {
    /// Executes a unit. If a write is refused, nothing is changed; after a failure the batch can
    /// only be aborted.
    pub fn execute_unit(&mut self, unit: Unit<'_>) -> Result<Done, Broken> {
        let mut done = Done::from(LdapResult::success());
        // Drops numbers given in a refused unit.
        self.given.clear();
        self.refuse_overtaken(unit)?;
        match unit {
            [write] => match self.execute(write) {
                Ok(controls) => done.outcome.controls = controls,
                Err(stop) => return Err(Broken { at: 0, stop }),
            },
            writes => done.controls = self.execute_together(writes)?,
        }
        done.given = std::mem::take(&mut self.given);
        Ok(done)
    }

    fn execute_together(&mut self, writes: Unit<'_>) -> Result<Vec<Vec<OwnedControl>>, Broken> {
        let failed = |at| {
            move |error: store::Error| Broken {
                at,
                stop: error.into(),
            }
        };
        let before = (self.schema.clone(), self.noticed.clone());
        let mark = self.history.mark();
        let lines = self.trail.mark();
        let savepoint = self.batch.save().map_err(failed(0))?;
        let mut controls = Vec::with_capacity(writes.len());
        for (at, write) in writes.iter().enumerate() {
            let given_before = self.given.len();
            match self.execute(write) {
                Ok(of_write) => {
                    controls.push(of_write);
                    let given = &mut self.given[given_before..];
                    given.iter_mut().for_each(|it| it.write = at);
                }
                Err(stop) => {
                    if matches!(stop, Stop::Refused(_)) {
                        self.batch.roll_back(savepoint).map_err(failed(at))?;
                        (self.schema, self.noticed) = before;
                        self.batch.set_schema(self.schema.clone());
                        self.history.rewind(mark);
                        self.trail.rewind(&lines);
                    }
                    return Err(Broken { at, stop });
                }
            }
        }
        self.batch.release(savepoint).map_err(failed(0))?;
        Ok(controls)
    }
}
