//! Execution of a delete.

use super::Execution;
use crate::stop::Stop;
use crate::write::Write;
use protocol::ResultCode;

impl Execution<'_, '_> {
    pub(super) fn delete(&mut self, write: &Write) -> Result<(), Stop> {
        let id = self.locate(write)?;
        let (parent, children) = {
            let snapshot = self.batch.snapshot();
            let parent = snapshot.entry(id)?.map(|view| view.parent());
            (parent, snapshot.child_count(id)?)
        };
        let Some(parent) = parent else {
            return Err(super::missing_row(id));
        };
        if children > 0 {
            return Stop::refuse(
                ResultCode::NOT_ALLOWED_ON_NON_LEAF,
                format!("the entry has {children} entries below it"),
            );
        }
        if write.name == self.catalog.config {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "cn=config is always there",
            );
        }
        let row = if parent.0 == 0 {
            write.name.bytes()
        } else {
            write.name.leaf().unwrap_or(&[])
        };
        self.batch.delete(id, (parent, row))?;
        Ok(())
    }
}
