//! The interface between a node's writer and its clients, which submit writes.

use policy::rehash::Rehashed;
use policy::seats::Changed;
use protocol::LdapResult;
use state::execute::Done;
use state::write::{Unit, Write};

/// Writes that are ordered together.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every submission is one write, and each would pay for a box"
)]
pub enum Writes {
    /// One write.
    One(Write),
    /// Writes that are applied wholly or not at all.
    Whole(Vec<Write>),
    /// Writes that are applied or refused one by one.
    Each(Vec<Write>),
}

impl Writes {
    /// All writes, in order.
    pub fn all(&self) -> &[Write] {
        match self {
            Writes::One(write) => std::slice::from_ref(write),
            Writes::Whole(writes) | Writes::Each(writes) => writes,
        }
    }

    /// The units: parts that are applied wholly or not at all.
    pub fn units(&self) -> impl Iterator<Item = Unit<'_>> {
        let length = match self {
            Writes::One(_) | Writes::Each(_) => 1,
            Writes::Whole(writes) => writes.len().max(1),
        };
        self.all().chunks(length)
    }
}

/// Writes on their way to the writer.
#[derive(Debug)]
pub struct Submission<T> {
    /// The writes.
    pub writes: Writes,
    /// Number of the client, 0 for the node itself: submissions of one client keep their order.
    pub client: u64,
    /// Address of the results; `None` if no client waits for them.
    pub ticket: Option<T>,
}

/// Receivers of results.
pub trait Clients: Send + Sync {
    /// Address of the results of one submission.
    type Ticket: Send + 'static;

    /// Delivers the results of submissions that were executed together: one result for each unit of
    /// each submission, in order. `position` is that of their record; `None` if they have no place
    /// in the order. Must not block.
    fn answer(
        &self,
        group: &[Submission<Self::Ticket>],
        results: &mut dyn Iterator<Item = Done>,
        position: Option<u64>,
    );

    /// Tells that the submissions have no result, and will have none: whether their writes are or
    /// will be executed is unknown for the reason given. Must not block.
    fn undecided(&self, group: &[Submission<Self::Ticket>], reason: &str);
}

/// Observers of commits.
pub trait Observer: Send + Sync {
    /// A commit is visible to new snapshots. Must not block.
    fn committed(&self) {}

    /// Commits up to this store version changed accounts so that their connections may have to end.
    /// Called when readers can see these commits, before [`committed`](Self::committed).
    fn accounts_changed(&self, _version: u64, _changed: Changed<'_>) {}

    /// Passwords are about to be stored in another form. Called before readers can see the commit.
    fn rehashed(&self, _passwords: &[Rehashed]) {}

    /// Snapshots should be released, because the database file was replaced. Must not block.
    fn release_snapshots(&self) {}
}

/// One result for every unit of a group.
pub(crate) fn for_all(result: LdapResult) -> impl Iterator<Item = Done> {
    std::iter::repeat(Done::from(result))
}
