//! Searches that follow the directory: content synchronisation (RFC 4533) as provider, and
//! persistent search (draft-ietf-ldapext-psearch-03).
//!
//! Both run in slices beside the other operations of their connection. A refresh brings the client
//! to the state of one moment; then the history is read change by change, up to the snapshot.
//! Nothing is queued for a slow client: once the history no longer reaches back to its moment, it
//! is told to refresh. An entry with very many members is sent in parts (`large.rs`), and other
//! messages wait for its end.
//!
//! A follower keeps the ids of the content's entries, a bit each, to distinguish a change that
//! takes an entry out of the content from one that never concerned the client.

mod ahead;
mod answer;
mod begin;
pub(crate) mod cookie;
mod persist;
mod refresh;
mod subtree;

pub(crate) use begin::begin;

use crate::context::{Context, VisibleEntry, Walks};
use crate::feed::Listener;
use crate::search::large::{Gone as Progress, Large};
use crate::search::needs::Needs;
use crate::search::slice::Slice;
use crate::search::spool::Spools;
use crate::search::unindexed::Permit;
use crate::session::Session;
use ahead::Ahead;
use answer::Gone;
use policy::Subject;
use protocol::control::{ChangeType, PersistentSearch};
use protocol::{LdapResult, MessageId, ResultCode};
use roaring::RoaringTreemap;
use schema::{Name, Truth};
use state::history::{Change, Detail, Extent, Moment, Occasion};
use state::projection::Projection;
use state::stop::Stop;
use std::rc::Rc;
use std::sync::Arc;
use store::{Candidates, EntryId, Region, RegionScope};
use subtree::Lost;

/// State of a following search between two slices. It holds no snapshot.
#[derive(Debug)]
pub struct Follower {
    pub(super) id: MessageId,
    kind: Kind,
    stage: Stage,
    region: Region,
    /// The base as resolved from the request.
    base: Name,
    asked: Asked,
    filter: schema::Filter,
    projection: Projection,
    /// Whether referral objects are ordinary entries; otherwise they are not part of the content.
    manage_dsa_it: bool,
    /// The consumer's replica number in its cookies.
    rid: u16,
    /// Moment up to which every change has been sent, or will have been at the end of the refresh.
    at: Moment,
    /// Ids of the content's entries in the client's copy.
    members: RoaringTreemap,
    /// Moment at which `members` was completed; for earlier changes membership is unknown.
    learned: Moment,
    /// Walk over the entries below one that moved, still to be sent.
    walk: Option<Walk>,
    /// A deleted subtree whose entries are still to be reported.
    lost: Option<Lost>,
    /// Where entries are kept that are too large for the output.
    spools: Option<Arc<Spools>>,
    /// An entry that is being sent in parts: nothing can be told before the end of it.
    large: Option<Box<Large>>,
    /// How the base was lost, reported after `large`.
    base_lost: Option<ChangeType>,
    gone: Vec<Gone>,
    /// Entries sent since the client was last up to date.
    ahead: Ahead,
    unchanged: Vec<[u8; 16]>,
    /// Number of changes since the client last got a cookie.
    silent: u32,
    /// Number of entries sent.
    sent: u64,
    size_max: u64,
    time_ms_max: u64,
    candidates_max: u64,
    examined: u64,
    /// Start of the search in microseconds; `None` during its first slice.
    began_us: Option<u64>,
    listener: Option<Listener>,
    /// The search's place among the unindexed searches, until all entries have been looked at.
    permit: Option<Permit>,
    /// Unfinished walks over groups for resolving the filter under a new schema.
    walks: Option<Box<Walks>>,
    /// Subject of proxied authorization (RFC 4370); `None` for the session's own.
    subject: Option<Rc<Subject>>,
    buffer: Vec<u8>,
}

/// The request, kept to be resolved again when an attribute that no entry had gets its first value.
#[derive(Debug)]
struct Asked {
    /// The filter in BER, decoded once as a check.
    filter: Vec<u8>,
    attributes: Vec<String>,
    types_only: bool,
    /// The schema under which the follower's `filter` and `projection` are resolved.
    schema: schema::Schema,
}

/// The protocol of the client.
#[derive(Debug)]
enum Kind {
    Sync { persist: bool },
    Persistent(PersistentSearch),
}

/// Stage of a follower.
#[derive(Debug)]
enum Stage {
    /// Reads the entries of the region.
    Scan(Scan),
    /// Refresh from the history: sends the changes between the client's moment and `at`.
    Delta { from: Moment, seen: RoaringTreemap },
    /// Sends changes as they happen.
    Persist,
}

/// Progress of reading the entries of the region.
#[derive(Debug)]
struct Scan {
    purpose: Purpose,
    candidates: Option<Candidates>,
    after: EntryId,
}

/// Purpose of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Sends every entry.
    Send,
    /// Sends entries changed after this moment, and the identifiers of the others.
    Compare(Moment),
    /// Only collects the ids of the entries that the client has.
    Learn,
}

/// Progress of reading the entries below one that moved.
#[derive(Debug)]
struct Walk {
    top: EntryId,
    candidates: Option<Candidates>,
    after: EntryId,
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

    /// Ends the search because the client cancelled it (RFC 3909, RFC 4533 §3.7).
    pub(crate) fn cancelled(&mut self, out: &mut Vec<u8>) {
        self.put_stopped(&LdapResult::new(ResultCode::CANCELED, ""), out);
    }

    fn is_persisting(&self) -> bool {
        matches!(self.stage, Stage::Persist)
    }

    /// Whether the search continues after its refresh.
    fn stays(&self) -> bool {
        !matches!(self.kind, Kind::Sync { persist: false })
    }

    /// The entry; `None` if it is not in the content.
    fn content<'c, 'a>(
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
    fn matches(
        &mut self,
        context: &Context<'_>,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<bool, Stop> {
        let catalog = context.catalog;
        let matches = context.in_region(entry, &self.region)?
            && (self.manage_dsa_it || !catalog.has_referrals || !entry.has_class("referral"))
            && context.evaluate_paced(&self.filter, entry, &mut self.buffer)? == Truth::True;
        Ok(matches)
    }

    /// Whether the entries below a moved one have to be read: it came from outside the region, or
    /// left it. If entries were renamed since, the present place of its old superior does not tell.
    fn must_walk(
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
    fn loses_base(&self, context: &Context<'_>, change: &Change<'_>) -> Result<bool, Stop> {
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

    /// Runs one slice.
    pub(crate) fn step(
        &mut self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Followed, Stop> {
        if let Some(followed) = self.send_large(context, needs, out)? {
            return Ok(followed);
        }
        if !self.asked.schema.is_same(&context.catalog.schema)
            && !self.resolve_again(context, needs)?
        {
            return Ok(Followed::More);
        }
        let mut slice = Slice::new(out);
        loop {
            let done = match self.stage {
                Stage::Scan(_) => self.scan(context, &mut slice, out)?,
                Stage::Delta { .. } => self.delta(context, &mut slice, out)?,
                Stage::Persist => return self.persist(context, &mut slice, out),
            };
            if let Some(ended) = done {
                return Ok(ended);
            }
            if self.large.is_some() || slice.is_over() || slice.is_full(out) {
                self.check_time(needs)?;
                return Ok(Followed::More);
            }
        }
    }

    /// Continues an entry that is sent in parts; `None` if there is none.
    fn send_large(
        &mut self,
        context: &Context<'_>,
        needs: &Needs<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Followed>, Stop> {
        let Some(mut large) = self.large.take() else {
            return Ok(None);
        };
        match large.step(context, None, out)? {
            Progress::NotYet => {}
            Progress::Sent => {
                self.sent += 1;
                return Ok(None);
            }
            // The deletion is reported at its own change.
            Progress::Vanished => return Ok(None),
        }
        let inside = large.is_inside();
        self.large = Some(large);
        if inside {
            return Ok(Some(Followed::Inside));
        }
        if !self.is_persisting() {
            self.check_time(needs)?;
        }
        Ok(Some(Followed::More))
    }

    /// The time limit applies to the refresh (RFC 4533 §3.5.4).
    fn check_time(&mut self, needs: &Needs<'_>) -> Result<(), Stop> {
        let now = needs.clock.now_us();
        let began = *self.began_us.get_or_insert(now);
        let limit = self.time_ms_max;
        if limit != 0 && now.saturating_sub(began) > limit * 1_000 {
            return Stop::refuse(
                ResultCode::TIME_LIMIT_EXCEEDED,
                format!("the time limit of {limit} ms is used up before the refresh has ended"),
            );
        }
        Ok(())
    }
}
