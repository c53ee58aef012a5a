//! Lines of the audit about one record, and the end of the chain in the database.
//!
//! A line is a function of record and state, as everything in execution is, and the end of the
//! chain is a row of the database: so every node has the same chain, whether it writes the lines to
//! files or not, and nodes that compare their states compare their chains.

use crate::meta::META_AUDIT;
use crate::stop::Failure;
use crate::write::Write;
use audit::{Author, Head, Opening};
use store::Snapshot;

/// The lines about one record.
#[derive(Debug, Clone)]
pub struct Audited {
    /// Where in the chain they begin.
    pub opening: Opening,
    /// The lines, each with its end.
    pub bytes: Vec<u8>,
    /// The end of the chain behind them.
    pub head: Head,
}

/// The lines about the record being executed.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// Whether changes are audited.
    pub is_on: bool,
    /// The lines; `None` before the first.
    pub audited: Option<Audited>,
    /// DN of the subject that makes the current write.
    pub by: String,
    /// How that subject came in.
    pub author: Option<Author>,
}

/// The lines at some moment, to go back to.
pub(crate) struct Mark(Option<(usize, Head)>);

impl Trail {
    /// The lines of a record that is executed while changes are audited, or not.
    pub fn new(is_on: bool) -> Trail {
        Trail {
            is_on,
            ..Trail::default()
        }
    }

    /// Sets the write that the next lines are about.
    #[inline]
    pub fn begin(&mut self, write: &Write) {
        if self.is_on {
            self.by = write.by().to_owned();
            self.author = write.grant.author().cloned();
        }
    }

    /// The present end of the lines.
    pub fn mark(&self) -> Mark {
        Mark((self.audited.as_ref()).map(|it| (it.bytes.len(), it.head)))
    }

    /// Removes the lines behind a mark, whose changes were taken back.
    pub fn rewind(&mut self, mark: &Mark) {
        match (&mark.0, &mut self.audited) {
            (Some((length, head)), Some(audited)) => {
                audited.bytes.truncate(*length);
                audited.head = *head;
            }
            _ => self.audited = None,
        }
    }

    /// The lines; `None` if there are none.
    pub fn into_lines(self) -> Option<Audited> {
        self.audited
    }

    /// The end of the chain behind the lines; `None` if there are none.
    pub fn head(&self) -> Option<Head> {
        self.audited.as_ref().map(|it| it.head)
    }
}

/// Reads the end of the chain; `None` if nothing was ever audited.
///
/// # Errors
/// The store cannot be read, or the row is damaged.
pub fn head_of_audit(snapshot: &Snapshot<'_>) -> Result<Option<Head>, Failure> {
    let Some(row) = snapshot.meta(META_AUDIT)? else {
        return Ok(None);
    };
    let head = Head::decode(row).ok_or_else(|| store::Error::Corrupt {
        table: "meta",
        detail: "the end of the audit's chain cannot be read".to_owned(),
    })?;
    Ok(Some(head))
}
