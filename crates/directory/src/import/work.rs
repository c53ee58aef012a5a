//! What workers are given and what they hand to the sequencer.

use super::known::Known;
use super::rulebook::{Claim, Ruled};
use super::source::Piece;
use std::ops::Range;
use std::sync::mpsc::Sender;
use store::Prepared;

/// What a worker is to do.
pub(super) enum Task {
    /// Read a piece of the input.
    Given(Piece),
    /// Take over the entries of the old database with these ids.
    Stored { from: u64, to: u64 },
}

/// What goes along the line.
pub(super) enum Item {
    Work(Box<Work>),
    /// Everything before it is to be kept; nothing after it has begun.
    Checkpoint(Pause),
}

/// A moment at which nothing is under way.
pub(super) struct Pause {
    /// Pieces of the input that are done.
    pub pieces: u64,
    /// Numbers that stamps have used.
    pub stamps: u64,
    /// Told when everything is kept.
    pub kept: Sender<()>,
}

/// What came of a task.
pub(super) struct Work {
    pub origin: Origin,
    pub text: Text,
    pub prepared: Prepared,
    /// One for each prepared entry.
    pub entries: Vec<Prospect>,
    /// What entries claim under rules for values, those of each entry together.
    pub claims: Vec<Claim>,
    pub rejected: Vec<Rejected>,
    /// The input it comes from cannot be read on.
    pub broken: bool,
    /// Blocks of values that become links, each with the place of its entry; in this order.
    pub links: Vec<(usize, Vec<u8>)>,
    /// What the old database has of names in this piece, when it stays.
    pub known: Known,
}

impl Work {
    /// Bytes of memory that it takes, roughly.
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
}

/// Where a piece comes from.
pub(super) struct Origin {
    /// And how its entries are counted: `people.ldif, line`.
    pub text: String,
    /// Where it begins in its stream, if that is of use to whoever looks there.
    pub offset: Option<u64>,
}

impl Origin {
    /// Names an entry by its line or number, and its place in the piece.
    pub fn of(&self, line: u64, at: usize) -> String {
        let text = &self.text;
        match self.offset {
            Some(offset) => format!("{text} {line} at byte {}", offset + at as u64),
            None => format!("{text} {line}"),
        }
    }
}

/// The text of a piece, to show an entry that is rejected later.
pub(super) enum Text {
    Ldif(Vec<u8>),
    Ber {
        requests: Vec<u8>,
        bare: bool,
    },
    /// Names of entries, one behind the other.
    Names(Vec<u8>),
}

/// An entry that may go into the database.
#[derive(Debug, Clone)]
pub(super) struct Prospect {
    /// Stands for its name.
    pub name: u128,
    /// Stands for its superior's name; `None` for a naming context.
    pub superior: Option<u128>,
    pub kind: Kind,
    /// Where it stands in the piece's text.
    pub place: Range<usize>,
    /// Line or number in its source.
    pub line: u64,
    /// Its claims in the work.
    pub claims: Range<usize>,
    /// The rules for values that it falls under, if any.
    pub ruled: Option<Box<Ruled>>,
}

/// How an entry came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The input has it.
    Imported,
    /// The old database has it.
    Kept,
    /// The old database has it because `init` made it: an imported one replaces it.
    Initial,
    /// It was missing above an imported one, which replaces it when it comes.
    Created,
}

impl Kind {
    /// Whether the old database has it.
    pub fn is_kept(self) -> bool {
        matches!(self, Kind::Kept | Kind::Initial)
    }
}

/// An entry that cannot go into the database.
#[derive(Debug)]
pub(super) struct Rejected {
    pub line: u64,
    /// Where it stands in the piece.
    pub at: usize,
    pub reason: String,
    /// As LDIF.
    pub text: Vec<u8>,
}
