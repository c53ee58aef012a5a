//! Tasks of workers, and their results for the sequencer.

use super::aside::Waiting;
use super::known::Known;
use super::rejects;
use super::rulebook::{Claim, Ruled};
use super::source::{Piece, read_request, values_of};
use crate::line::Stopped;
use protocol::ldif::LdifAttribute;
use std::ops::Range;
use std::sync::mpsc::Sender;
use store::{EntryView, Prepared};

/// A task of a worker.
pub(super) enum Task {
    /// Makes prospects of a piece of the input.
    Given(Piece),
    /// Takes over the entries of the old database with ids from `from` to `to`, both included.
    Stored { from: u64, to: u64 },
}

/// An item on the line.
pub(super) enum Item {
    /// The result of a task, or a part of it.
    Work(Box<Work>),
    /// A request to store every result before it. No later task has begun.
    Checkpoint(Pause),
}

/// A moment without unfinished tasks.
pub(super) struct Pause {
    /// Number of tasks done.
    pub pieces: u64,
    /// Number of stamps used.
    pub stamps: u64,
    /// Signalled when the checkpoint is written.
    pub written: Sender<()>,
}

/// One entry of the input, before any check.
pub(super) struct Read<'r> {
    pub dn: &'r str,
    pub values: &'r [LdifAttribute<'r>],
    /// Range of the entry in the text of the piece.
    pub place: Range<usize>,
    /// Line or number of the entry in the source.
    pub line: u64,
}

/// Reason why an entry does not become a prospect.
pub(super) enum Refused {
    /// The entry is invalid; the reason is a sentence.
    Entry(String),
    /// The import was stopped.
    Stopped,
}

impl From<String> for Refused {
    fn from(reason: String) -> Refused {
        Refused::Entry(reason)
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Refused {
        Refused::Stopped
    }
}

/// Result of a task.
pub(super) struct Work {
    pub origin: Origin,
    pub text: Text,
    pub prepared: Prepared,
    /// The prospects, one for each prepared entry.
    pub entries: Vec<Prospect>,
    /// Claims of the entries under rules for values, grouped by entry.
    pub claims: Vec<Claim>,
    pub rejected: Vec<Rejected>,
    /// Whether the input behind this piece cannot be read.
    pub broken: bool,
    /// Blocks of values that become links, with the indexes of their entries, in order.
    pub links: Vec<(usize, Vec<u8>)>,
    /// Names of this piece found in the old database, if the import adds to it.
    pub known: Known,
}

impl Work {
    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        let text = match &self.text {
            Text::Ldif(text) | Text::Names(text) => text.capacity(),
            Text::Ber { requests, .. } => requests.capacity(),
        };
        let links = self.links.iter().map(|(_, block)| block.capacity());
        let rejected = self.rejected.iter().map(|it| it.text.capacity());
        let claims = self.claims.capacity() * size_of::<Claim>();
        text + links.sum::<usize>() + rejected.sum::<usize>() + claims + self.prepared.memory()
    }

    /// The claims of an entry.
    pub fn claims_of(&self, prospect: &Prospect) -> &[Claim] {
        &self.claims[prospect.claims.clone()]
    }

    /// The block of the links of an entry, given by its index; `None` if it has none.
    pub fn links_of(&self, at: usize) -> Option<&[u8]> {
        let found = self.links.binary_search_by_key(&at, |it| it.0).ok()?;
        Some(&self.links[found].1)
    }

    /// The place of an entry in the input, as it appears in the rejects file.
    pub fn place_of(&self, prospect: &Prospect) -> String {
        self.origin.of(prospect.line, prospect.place.start)
    }

    /// An entry as LDIF; `at` is its index.
    pub fn ldif_of(&self, at: usize, prospect: &Prospect) -> Vec<u8> {
        let part = |text: &[u8]| {
            text.get(prospect.place.clone())
                .unwrap_or_default()
                .to_vec()
        };
        match &self.text {
            Text::Ldif(text) => part(text),
            Text::Ber { requests, bare } => {
                let request = part(requests);
                read_request(&request, *bare).map_or_else(
                    |_| Vec::new(),
                    |(request, _)| rejects::ldif(request.entry, &values_of(&request)),
                )
            }
            Text::Names(names) => {
                let dn = part(names);
                let dn = String::from_utf8_lossy(&dn);
                match EntryView::new(self.prepared.entry(at)) {
                    Ok(view) => rejects::stored(&dn, &view),
                    Err(_) => rejects::ldif(&dn, &[]),
                }
            }
        }
    }

    /// An entry that has to wait; `at` is its index.
    #[cold]
    pub fn waiting(&self, at: usize, prospect: &Prospect) -> Waiting {
        let ruled = prospect.ruled.as_deref();
        Waiting {
            name: prospect.name,
            superior: prospect.superior.unwrap_or_default(),
            imported: prospect.kind == Kind::Imported,
            ruled: ruled.cloned().unwrap_or_default(),
            row_name: self.prepared.name(at).to_vec(),
            row: self.prepared.entry(at).to_vec(),
            links: self.links_of(at).unwrap_or_default().to_vec(),
            text: self.ldif_of(at, prospect),
            place: self.place_of(prospect).into_bytes(),
        }
    }
}

/// Origin of a piece.
pub(super) struct Origin {
    /// Text before an entry's number: `people.ldif, line`.
    pub text: String,
    /// Offset of the piece in its stream; `None` if entries are found by their lines or numbers.
    pub offset: Option<u64>,
}

impl Origin {
    /// Names an entry by its line or number, and by its offset.
    pub fn of(&self, line: u64, at: usize) -> String {
        let text = &self.text;
        match self.offset {
            Some(offset) => format!("{text} {line} at byte {}", offset + at as u64),
            None => format!("{text} {line}"),
        }
    }
}

/// The text of a piece, for showing an entry that is rejected later.
pub(super) enum Text {
    Ldif(Vec<u8>),
    Ber {
        requests: Vec<u8>,
        bare: bool,
    },
    /// Concatenated names of entries.
    Names(Vec<u8>),
}

/// An entry that may go into the database.
#[derive(Debug, Clone)]
pub(super) struct Prospect {
    /// Hash of the entry's name.
    pub name: u128,
    /// Hash of its superior's name; `None` for a naming context.
    pub superior: Option<u128>,
    pub kind: Kind,
    /// Range of the entry in the text of its piece.
    pub place: Range<usize>,
    /// Line or number of the entry in its source.
    pub line: u64,
    /// Range of the entry's claims in the work.
    pub claims: Range<usize>,
    /// Rules for values that apply to the entry; `None` if none do.
    pub ruled: Option<Box<Ruled>>,
}

/// Origin of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The entry comes from the input.
    Imported,
    /// The entry comes from the old database.
    Kept,
    /// The entry comes from the old database, where `pando init` made it; an imported entry of this
    /// name replaces it.
    Initial,
    /// The entry was created above an imported entry; an imported entry of this name replaces it.
    Created,
}

impl Kind {
    /// Whether the entry comes from the old database.
    pub fn is_kept(self) -> bool {
        matches!(self, Kind::Kept | Kind::Initial)
    }
}

/// An entry that cannot go into the database.
#[derive(Debug)]
pub(super) struct Rejected {
    /// Line or number of the entry in its source.
    pub line: u64,
    /// Offset of the entry in the text of the piece, in bytes.
    pub at: usize,
    pub reason: String,
    /// The entry as LDIF.
    pub text: Vec<u8>,
}
