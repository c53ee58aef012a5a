//! Execution of a unit: one write, or the writes of a transaction, wholly or not at all.
//!
//! One write needs no savepoint, because a refusal has changed nothing. In a transaction a write
//! sees what those before it did, so that it cannot be judged before they are applied: they are
//! applied below a savepoint, which is rolled back when one of them is refused.

use super::{Execution, GivenNumber};
use crate::stop::Stop;
use crate::write::Unit;
use protocol::{LdapResult, OwnedControl};

/// How the execution of a write ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result that the client is told.
    pub result: LdapResult,
    /// What execution says in response controls: the entry before or after, for example.
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

/// How a unit ended.
#[derive(Debug, Clone)]
pub struct Done {
    /// The result, and the response controls of a write that is alone.
    pub outcome: Outcome,
    /// Which of the writes was refused, if it was one of them.
    pub at: Option<usize>,
    /// The response controls of each write of a transaction.
    pub controls: Vec<Vec<OwnedControl>>,
    /// Numbers that its entries were given.
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

/// Why a unit was not applied.
#[derive(Debug)]
pub struct Broken {
    /// Which of its writes stopped it.
    pub at: usize,
    /// The refusal or the failure.
    pub stop: Stop,
}

impl Execution<'_, '_> {
    /// Executes a unit. When a write of it is refused nothing has changed; after a failure the
    /// batch can only be dropped.
    pub fn execute_unit(&mut self, unit: Unit<'_>) -> Result<Done, Broken> {
        let mut done = Done::from(LdapResult::success());
        // What a unit that was refused had been given.
        self.given.clear();
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
                    }
                    return Err(Broken { at, stop });
                }
            }
        }
        self.batch.release(savepoint).map_err(failed(0))?;
        Ok(controls)
    }
}
