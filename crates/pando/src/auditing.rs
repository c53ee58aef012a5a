//! `pando audit`: verifies and shows the lines of the audit.

mod show;
mod source;
mod verify;

use crate::channel::Channel;
use crate::cli::{AuditAction, AuditHead};
use crate::node_folder::data_folder;
use crate::report::{Problem, say};
use audit::{Head, hex};
use replica::audit_head::stored_head;
use std::path::Path;

/// Runs an action of `pando audit`.
pub fn audit(action: &AuditAction) -> Result<(), Problem> {
    match action {
        AuditAction::Verify(it) => verify::verify(it),
        AuditAction::Show(it) => show::show(it),
        AuditAction::Head(it) => head(it),
    }
}

/// Prints the end of the chain that a node's database has.
fn head(it: &AuditHead) -> Result<(), Problem> {
    match head_of_node(&it.dir)? {
        Some(head) => say(format_args!("{}:{}", head.line, hex(&head.hash))),
        None => Err(Problem::failed(format_args!(
            "{}: expected a directory whose changes are audited (audit.enabled in pando.toml)",
            it.dir.display()
        ))),
    }
}

/// The end of the chain that the database of a node has, served or not; `None` if nothing was ever
/// audited.
fn head_of_node(dir: &Path) -> Result<Option<Head>, Problem> {
    let data = data_folder(dir)?;
    stored_head(&data, Channel::is_served(dir)).map_err(Problem::of)
}
