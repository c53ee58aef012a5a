//! The audit of a node: begun and ended as the settings say, and its lines written.

use super::{Executor, OwnWrites};
use crate::audit_files::{AuditKeeper, AuditStanding, Auditing};
use state::level;
use state::stop::Failure;
use state::trail::{Audited, head_of_audit};
use state::write::{Change, Write};
use std::sync::Arc;
use store::Store;

/// A node's part in the audit.
pub(crate) struct AuditPart {
    /// Writer of the lines; `None` if this node writes none.
    pub keeper: Option<AuditKeeper>,
    /// The rules of the settings.
    pub wanted: Auditing,
    /// How the files stand.
    pub standing: Arc<AuditStanding>,
}

impl AuditPart {
    /// Opens the files of a node's data folder.
    ///
    /// # Errors
    /// The folder of lines cannot be made or read, or the database cannot be read.
    pub fn open(store: &Store, wanted: Auditing) -> Result<AuditPart, Failure> {
        let head = head_of_audit(&store.reader()?.snapshot()?)?.unwrap_or_default();
        let standing = Arc::default();
        let keeper = AuditKeeper::open(store.folder(), wanted, head, &standing)?;
        Ok(AuditPart {
            keeper,
            wanted,
            standing,
        })
    }
}

#[cfg(test)]
impl AuditPart {
    /// No lines are written, and no audit begins or ends.
    pub fn none() -> AuditPart {
        AuditPart {
            keeper: None,
            wanted: Auditing::AsBefore,
            standing: Arc::default(),
        }
    }
}

impl Executor {
    /// Begins or ends the audit of a node alone, and ends writing where lines are not wanted.
    pub(super) fn audit_alone(&mut self) {
        let catalog = self.parts.catalog.load();
        let (audits, level) = (catalog.audits, catalog.level);
        let begins = match self.parts.audit.wanted {
            Auditing::AsBefore => return,
            Auditing::On(_) => true,
            Auditing::Off => false,
        };
        let is_alone = matches!(self.parts.own, OwnWrites::Ordered(_));
        if is_alone && level >= level::AUDITS && audits != begins {
            match self.perform_own(&[Write::of_no_entry(Change::Audit(begins))])[..] {
                [true] => tracing::info!(begins, "the audit of changes begins or ends"),
                _ => tracing::error!(begins, "the next start begins or ends the audit"),
            }
        }
        if !begins
            && let Some(keeper) = self.parts.audit.keeper.take()
            && let Err(failure) = keeper.retire()
        {
            tracing::error!(%failure, "the last file of the audit could not be closed");
        }
    }

    /// Submits the write that begins the audit of a cluster, if this node is to write lines.
    pub(super) fn audit_as_set(&mut self) {
        let catalog = self.parts.catalog.load();
        if let (OwnWrites::Submitted(steward), Auditing::On(_)) =
            (&self.parts.own, self.parts.audit.wanted)
            && !catalog.audits
            && catalog.level >= level::AUDITS
            && steward.may_submit()
        {
            steward.submit(vec![Write::of_no_entry(Change::Audit(true))]);
        }
    }

    /// Writes the lines of a committed record.
    pub(super) fn keep_audited(&mut self, audited: Option<Audited>) {
        let (Some(keeper), Some(audited)) = (&mut self.parts.audit.keeper, audited) else {
            return;
        };
        if let Some(file) = keeper.keep(audited) {
            self.journal.accompany(file);
        }
    }

    /// Tries again to write lines that could not be written, if that is due.
    pub(super) fn retry_audit(&mut self) {
        let keeper = self.parts.audit.keeper.as_mut();
        if let Some(file) = keeper.and_then(AuditKeeper::try_again) {
            self.journal.accompany(file);
        }
    }
}
