//! The state of a following search, and facts about changes that every stage asks.

use crate::context::{Context, VisibleEntry, Walks};
use crate::feed::Listener;
use crate::places::Permit;
use crate::search::criteria::Criteria;
use crate::search::large::Large;
use crate::session::Session;
use policy::Subject;
use protocol::control::{ChangeType, PersistentSearch};
use protocol::{LdapResult, MessageId, ResultCode, ResultKind, response};
use roaring::RoaringTreemap;
use schema::Name;
use spool::Spools;
use spool::memory::Hold;
use state::history::{Change, Detail, Moment};
use state::projection::Projection;
use state::stop::Stop;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{Candidates, EntryId, Region, RegionScope, TreeWalk};

/// State of a following search between two slices. It holds no snapshot.
#[derive(Debug)]
pub struct Follower {
    pub(super) id: MessageId,
    pub(super) kind: Kind,
    pub(super) stage: Stage,
    pub(super) region: Region,
    /// The base as resolved from the request.
    pub(super) base: Name,
    pub(super) asked: KeptRequest,
    pub(super) criteria: Criteria,
    pub(super) projection: Projection,
    /// The consumer's replica number in its cookies.
    pub(super) rid: u16,
    /// Moment up to which every change has been sent, or will have been at the end of the refresh.
    pub(super) at: Moment,
    /// Ids of the content's entries in the client's copy.
    pub(super) members: RoaringTreemap,
    /// Memory of these ids, and of the candidates of a scan.
    pub(super) memory: Hold,
    /// Moment at which `members` was completed; for earlier changes membership is unknown.
    pub(super) learned: Moment,
    /// Walk over the entries below one that moved, still to be sent.
    pub(super) walk: Option<Walk>,
    /// A deleted subtree whose entries are still to be reported.
    pub(super) lost: Option<Lost>,
    /// Where entries are kept that are too large for the output.
    pub(super) spools: Option<Arc<Spools>>,
    /// An entry that is being sent in parts: nothing can be told before the end of it.
    pub(super) large: Option<Box<Large>>,
    /// How the base was lost, reported after `large`.
    pub(super) base_lost: Option<ChangeType>,
    pub(super) gone: Vec<Gone>,
    /// Entries sent since the client was last up to date.
    pub(super) ahead: Ahead,
    pub(super) unchanged: Vec<[u8; 16]>,
    /// Number of changes since the client last got a cookie.
    pub(super) silent: u32,
    /// Number of entries sent.
    pub(super) sent: u64,
    pub(super) size_max: u64,
    pub(super) time_ms_max: u64,
    pub(super) candidates_max: u64,
    pub(super) examined: u64,
    /// Start of the search in microseconds; `None` during its first slice.
    pub(super) began_us: Option<u64>,
    pub(super) listener: Option<Listener>,
    /// The search's place among the unindexed searches, until all entries have been looked at.
    pub(super) permit: Option<Permit>,
    /// Unfinished walks over groups for resolving the filter under a new schema.
    pub(super) walks: Option<Box<Walks>>,
    /// Subject of proxied authorization (RFC 4370); `None` for the session's own.
    pub(super) subject: Option<Rc<Subject>>,
    pub(super) buffer: Vec<u8>,
}

/// The request, kept to be resolved again when an attribute that no entry had gets its first value.
#[derive(Debug)]
pub(super) struct KeptRequest {
    /// The filter in BER, decoded once as a check.
    pub(super) filter: Vec<u8>,
    pub(super) attributes: Vec<String>,
    pub(super) types_only: bool,
    /// The schema under which the follower's `criteria` and `projection` are resolved.
    pub(super) schema: schema::Schema,
}

/// The protocol of the client.
#[derive(Debug)]
pub(super) enum Kind {
    Sync { persist: bool },
    Persistent(PersistentSearch),
}

/// Stage of a follower.
#[derive(Debug)]
pub(super) enum Stage {
    /// Reads the entries of the region.
    Scan(Scan),
    /// Refresh from the history: sends the changes between the client's moment and `at`.
    Delta { from: Moment, seen: RoaringTreemap },
    /// Sends changes as they happen.
    Persist,
}

/// Progress of reading the entries of the region.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) purpose: Purpose,
    pub(super) candidates: Option<Candidates>,
    pub(super) after: EntryId,
}

/// Purpose of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Sends every entry.
    Send,
    /// Sends entries changed after this moment, and the identifiers of the others.
    Compare(Moment),
    /// Only collects the ids of the entries that the client has.
    Learn,
}

/// Progress of reading the entries below one that moved.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) top: EntryId,
    pub(super) candidates: Option<Candidates>,
    pub(super) after: EntryId,
}

/// Result of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// The search ended; its result is in the output.
    Ended,
    /// More messages follow: call again when the client can take more.
    More,
    /// Like `More`, inside a message: no other bytes may be written before the rest of it.
    Inside,
    /// Everything is sent: call again when the directory has changed.
    CaughtUp,
    /// A message that was begun cannot be finished: the connection must be closed.
    Broken,
}

/// A deleted subtree that is not completely reported.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) top: EntryId,
    /// Moment up to which reclaimed entries have been reported.
    pub(super) read: Moment,
    pub(super) rest: TreeWalk,
    /// Entries reported while still stored; the history names them again once they are reclaimed.
    pub(super) told: RoaringTreemap,
    /// Whether the deletion happened before the client's entries were known.
    pub(super) unsure: bool,
    /// Change number of the deletion.
    pub(super) number: u64,
}

/// An entry that left the content and is not reported yet.
#[derive(Debug)]
pub(super) struct Gone {
    pub uuid: [u8; 16],
    pub name: String,
    /// Moment for the cookie of this report; `None` if the change has more to report.
    pub moment: Option<Moment>,
}

/// Entries that were sent, each with the log position of the change whose state was sent.
#[derive(Debug, Default)]
pub(super) struct Ahead(pub HashMap<EntryId, u64>);

impl Follower {
    /// Number of entries sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// The message id of the search request.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// The follower, with the rights of `subject`.
    pub(crate) fn acting_as(mut self, subject: Rc<Subject>) -> Follower {
        self.subject = Some(subject);
        self
    }

    /// The subject whose rights the follower has.
    pub(crate) fn subject(&self, session: &Session) -> Rc<Subject> {
        Rc::clone(self.subject.as_ref().unwrap_or(&session.subject))
    }

    /// Whether a part of a message may have been sent.
    pub(crate) fn is_inside_message(&self) -> bool {
        self.large.as_ref().is_some_and(|it| it.is_inside())
    }

    /// Notes that the follower is about to take a new snapshot.
    pub(crate) fn looks(&self) {
        if let Some(listener) = &self.listener {
            listener.looks();
        }
    }

    /// Ends the search because the client cancelled it (RFC 3909, RFC 4533 §3.7): the search is
    /// answered with `canceled`, the cancel operation with success.
    pub fn cancel(&mut self, cancel_id: MessageId, out: &mut Vec<u8>) {
        self.put_stopped(&LdapResult::new(ResultCode::CANCELED, ""), out);
        let done = LdapResult::success();
        response::write_result(out, cancel_id, ResultKind::Extended, &done, &[]);
    }

    pub(super) fn is_persisting(&self) -> bool {
        matches!(self.stage, Stage::Persist)
    }

    /// Whether the search continues after its refresh.
    pub(super) fn stays(&self) -> bool {
        !matches!(self.kind, Kind::Sync { persist: false })
    }

    /// The entry; `None` if it is not in the content.
    pub(super) fn content<'c, 'a>(
        &mut self,
        context: &'c Context<'a>,
        id: EntryId,
    ) -> Result<Option<VisibleEntry<'c, 'a>>, Stop> {
        let Some(entry) = context.entry(id)? else {
            return Ok(None);
        };
        Ok(self.matches(context, &entry)?.then_some(entry))
    }

    /// Whether an entry is in the content.
    pub(super) fn matches(
        &mut self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<bool, Stop> {
        if !context.in_region(entry, &self.region)? {
            return Ok(false);
        }
        let (criteria, base, buffer) = (&mut self.criteria, self.region.base, &mut self.buffer);
        context.whole(|| criteria.accept(context, base, entry, buffer))
    }

    /// Whether the entries below a moved one have to be read: it came from outside the region, or
    /// left it. If entries were renamed since, the present place of its old superior does not tell.
    pub(super) fn must_walk(
        &self,
        context: &Context<'_>,
        change: &Change<'_>,
        moment: Moment,
    ) -> Result<bool, Stop> {
        let Detail::Was {
            superior,
            moved_subtree: true,
            ..
        } = change.detail
        else {
            return Ok(false);
        };
        let deep = matches!(
            self.region.scope,
            RegionScope::Subtree | RegionScope::Subordinates
        );
        if !deep || self.region.base.0 == 0 {
            return Ok(false);
        }
        let mut renamed_since = false;
        context.changes_after(moment, |_, later| {
            renamed_since |= matches!(later.detail, Detail::Was { .. });
            Ok(!renamed_since)
        })?;
        let Some(superior) = context.entry(superior)? else {
            return Ok(true);
        };
        let Some(entry) = context.entry(change.entry)? else {
            // The entry was deleted since, with everything below it that did not move away.
            return Ok(false);
        };
        let whole = Region {
            base: self.region.base,
            scope: RegionScope::Subtree,
        };
        Ok(renamed_since
            || context.in_region(&superior, &whole)? != context.in_region(&entry, &whole)?)
    }

    /// Whether a change deletes the base, or gives its name to another entry (RFC 4533 §3.5.1).
    pub(super) fn loses_base(
        &self,
        context: &Context<'_>,
        change: &Change<'_>,
    ) -> Result<bool, Stop> {
        let base = self.region.base;
        if base.0 == 0 {
            return Ok(false);
        }
        match change.detail {
            Detail::Gone { .. } => Ok(change.entry == base),
            Detail::Was { .. } => {
                let Some(entry) = context.entry(base)? else {
                    return Ok(true);
                };
                let below = Region {
                    base: change.entry,
                    scope: RegionScope::Subtree,
                };
                context.in_region(&entry, &below)
            }
            // The entries of a subtree are reported first; only then is it known whether the base
            // was one of them.
            Detail::None | Detail::Subtree { .. } | Detail::Reclaimed { .. } => Ok(false),
        }
    }
}
