//! Files of lines about failed binds and denials, which are no changes: each node has a chain of
//! its own, whose end is in its files alone.

use super::keeper::AuditKeeper;
use super::{FileRules, end, folder};
use audit::{Attempts, Head};
use state::stop::Failure;
use state::trail::Audited;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::private;

/// Name of the folder in the folder of the audit.
const FOLDER: &str = "attempts";

/// Path of the folder of lines about attempts, in the folder of a node's lines about changes.
pub fn attempts_folder(audit: &Path) -> PathBuf {
    audit.join(FOLDER)
}

/// Writer of the lines about attempts of a node.
#[derive(Debug)]
pub struct AttemptFiles {
    keeper: AuditKeeper,
    head: Head,
    /// The file that is written.
    file: Option<Arc<File>>,
}

impl AttemptFiles {
    /// The writer for a data folder. Writing goes on behind the last line in the files.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(data: &Path, rules: FileRules) -> Result<AttemptFiles, Failure> {
        let folder = attempts_folder(&folder(data));
        let wrong = |error| Failure::file(folder.display().to_string(), error);
        private::create_folders(&folder).map_err(wrong)?;
        let end = end::end_of(&folder).map_err(wrong)?;
        let head = end.map_or_else(Head::default, |it| it.head);
        // Nothing is refused for lack of room: a client that fails is refused already.
        let rules = FileRules {
            required: false,
            ..rules
        };
        let keeper = AuditKeeper::of_folder(folder.clone(), rules, head, &Arc::default())?;
        Ok(AttemptFiles {
            keeper,
            head,
            file: None,
        })
    }

    /// Writes and syncs lines. If there is no room for them, they wait for the next call, and the
    /// log says so.
    pub fn write(&mut self, lines: &[Attempts<'_>]) {
        let (opening, mut bytes) = (self.head.opening(), Vec::new());
        for line in lines {
            self.head.append_attempts(line, &mut bytes);
        }
        let again = self.keeper.try_again();
        let kept = self.keeper.keep(Audited {
            opening,
            bytes,
            head: self.head,
        });
        self.file = kept.or(again).or(self.file.take());
        if let Some(file) = &self.file
            && let Err(error) = file.sync_data()
        {
            tracing::error!(%error, "lines about failed binds and denials cannot be synced");
        }
    }
}
