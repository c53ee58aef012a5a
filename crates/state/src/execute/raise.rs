//! Raising the format level of the database.

use super::Execution;
use crate::level;
use crate::stop::Stop;
use audit::Operation;
use protocol::ResultCode;

impl Execution<'_, '_> {
    /// Raises the level, and refuses if the database has it already; a failure if this program does
    /// not execute it. It counts as a change of the
    /// configuration: what was resolved at the former level is resolved again.
    pub(super) fn raise(&mut self, to: u32) -> Result<(), Stop> {
        let level = level::of(&self.batch.snapshot())?;
        if to <= level {
            let text = format!("the format level is {level} already");
            return Stop::refuse(ResultCode::UNWILLING_TO_PERFORM, text);
        }
        level::require_known(to)?;
        level::raise(self.batch, to)?;
        self.audit_directory(Operation::Level(to))?;
        self.noticed.configuration = true;
        Ok(())
    }
}
