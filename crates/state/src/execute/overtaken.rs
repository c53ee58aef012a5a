//! Where the first of two competing writes wins: a write is refused if its entry changed after the
//! client's node took the write.
//!
//! The conditions of a transaction are those of its beginning: its own writes do not compete with
//! each other.

use super::Execution;
use super::unit::Broken;
use crate::stop::{Refusal, Stop};
use crate::write::{Change, Unit, Write};
use protocol::{LdapResult, ResultCode};
use store::Lookup;

/// Diagnostic of a write that was overtaken. No other refusal has it.
const OVERTAKEN: &str = "another write changed the entry first: read it and decide again";

/// Whether a write was refused because its entry changed after [`WriteOptions::seen`].
///
/// [`WriteOptions::seen`]: crate::write::WriteOptions::seen
pub fn is_overtaken(result: &LdapResult) -> bool {
    result.code == ResultCode::ASSERTION_FAILED && result.diagnostic == OVERTAKEN
}

impl Execution<'_, '_> {
    /// Refuses a unit with a write that another write has overtaken.
    pub(super) fn refuse_overtaken(&self, unit: Unit<'_>) -> Result<(), Broken> {
        for (at, write) in unit.iter().enumerate() {
            self.require_unchanged(write)
                .map_err(|stop| Broken { at, stop })?;
        }
        Ok(())
    }

    fn require_unchanged(&self, write: &Write) -> Result<(), Stop> {
        let seen = write.options.as_deref().and_then(|it| it.seen);
        let Some(seen) = seen.filter(|_| !matches!(write.change, Change::Add(_))) else {
            return Ok(());
        };
        let snapshot = self.batch.snapshot();
        let Lookup::Found(id) = snapshot.find(write.name())? else {
            return Ok(());
        };
        let changed = snapshot.entry(id)?.map_or(0, |view| view.position());
        if changed <= seen {
            return Ok(());
        }
        Err(Refusal::new(ResultCode::ASSERTION_FAILED, OVERTAKEN).into())
    }
}
