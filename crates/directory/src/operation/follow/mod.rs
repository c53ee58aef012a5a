//! Searches that follow the directory: content synchronisation (RFC 4533) as provider, and
//! persistent search (draft-ietf-ldapext-psearch-03).
//!
//! Both run in slices beside the other operations of their connection. A refresh brings the client
//! to the state of one moment; from there on the history is read, change by change, as far as the
//! snapshot goes. A client that does not keep up costs nothing but its place: when the history no
//! longer reaches back to it, it is told to refresh. An entry of very many members is sent in parts
//! (`large.rs`), and everything else waits until it is.
//!
//! What is kept of the content is the set of its entries' ids, a bit each, so that a change which
//! takes an entry out of the content can be told from one that never concerned the client.

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
use crate::operation::large::{Gone as Progress, Large};
use crate::operation::search::Needs;
use crate::operation::slice::Slice;
use crate::operation::spool::Spools;
use crate::operation::unindexed::Permit;
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

/// A search that follows the directory, between two of its slices. It holds no snapshot.
#[derive(Debug)]
pub struct Follower {
    pub(super) id: MessageId,
    kind: Kind,
    stage: Stage,
    region: Region,
    /// The base as it was named.
    base: Name,
    asked: Asked,
    filter: schema::Filter,
    projection: Projection,
    /// Referral objects are ordinary entries; otherwise they are no part of the content.
    manage_dsa_it: bool,
    /// The consumer's number in its cookies.
    rid: u16,
    /// Every change up to here has been told, or will have been at the end of the refresh.
    at: Moment,
    /// Entries of the content as the client has it.
    members: RoaringTreemap,
    /// Changes up to here happened before `members` was known.
    learned: Moment,
    /// Entries below one that has moved, still to be looked at.
    walk: Option<Walk>,
    /// Entries of a deleted subtree, still to be told.
    lost: Option<Lost>,
    /// Where entries are kept that are too large for the output.
    spools: Option<Arc<Spools>>,
    /// An entry that is being sent in parts: nothing can be told before the end of it.
    large: Option<Box<Large>>,
    /// How the base went, told after that entry.
    base_lost: Option<ChangeType>,
    gone: Vec<Gone>,
    /// Entries that were told since the client was up to date.
    ahead: Ahead,
    unchanged: Vec<[u8; 16]>,
    /// Changes since the client last got a cookie.
    silent: u32,
    /// Entries sent.
    sent: u64,
    size_max: u64,
    time_ms_max: u64,
    candidates_max: u64,
    examined: u64,
    /// When the search began (microseconds), once it has taken more than a slice.
    began_us: Option<u64>,
    listener: Option<Listener>,
    /// Its place among the searches that no index helps, until all entries have been looked at.
    permit: Option<Permit>,
    /// Walks over groups that its filter needs under a new schema, and that are not done.
    walks: Option<Box<Walks>>,
    /// Whose rights it has (RFC 4370), if not the session's.
    subject: Option<Rc<Subject>>,
    buffer: Vec<u8>,
}

/// What the client asked for, kept to be resolved again: an attribute that no entry had when the
/// search began may come.
#[derive(Debug)]
struct Asked {
    /// In BER, known to decode.
    filter: Vec<u8>,
    attributes: Vec<String>,
    types_only: bool,
    /// What `filter` and `projection` of the follower are resolved under.
    schema: schema::Schema,
}

/// Which protocol the client speaks.
#[derive(Debug)]
enum Kind {
    Sync { persist: bool },
    Persistent(PersistentSearch),
}

/// What a follower is doing.
#[derive(Debug)]
enum Stage {
    /// Going through the entries there are.
    Scan(Scan),
    /// Refreshing: telling the changes between what the client has and `at`.
    Delta { from: Moment, seen: RoaringTreemap },
    /// Telling changes as they happen.
    Persist,
}

/// A way through the entries of the region.
#[derive(Debug)]
struct Scan {
    purpose: Purpose,
    candidates: Option<Candidates>,
    after: EntryId,
}

/// What a scan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Sending everything.
    Send,
    /// Sending what changed after this moment, naming the rest.
    Compare(Moment),
    /// Learning what the client has.
    Learn,
}

/// A way through the entries below one that has moved.
#[derive(Debug)]
struct Walk {
    top: EntryId,
    candidates: Option<Candidates>,
    after: EntryId,
}

/// What comes after a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// The search has ended; its result is in the output.
    Ended,
    /// There is more to say: go on when the client can take more.
    More,
    /// The same, and a part of a message may be in the output: nothing else may go there before the
    /// rest of it.
    Inside,
    /// Everything is told: go on when the directory has changed.
    CaughtUp,
    /// A message that was begun cannot be finished: the connection must be closed.
    Broken,
}

impl Follower {
    /// Entries sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// The message id of the search request.
    pub fn message_id(&self) -> MessageId {
        self.id
    }

    /// The same under the rights of `subject`.
    pub(crate) fn acting_as(mut self, subject: Rc<Subject>) -> Follower {
        self.subject = Some(subject);
        self
    }

    /// Whose rights it has.
    pub(crate) fn subject(&self, session: &Session) -> Rc<Subject> {
        Rc::clone(self.subject.as_ref().unwrap_or(&session.subject))
    }

    /// Whether a part of a message may have been sent.
    pub(crate) fn is_inside_message(&self) -> bool {
        self.large.as_ref().is_some_and(|it| it.is_inside())
    }

    /// The follower is about to take a new snapshot.
    pub(crate) fn looks(&self) {
        if let Some(listener) = &self.listener {
            listener.looks();
        }
    }

    /// The client has cancelled the search (RFC 3909, RFC 4533 §3.7).
    pub(crate) fn cancelled(&mut self, out: &mut Vec<u8>) {
        self.put_stopped(&LdapResult::new(ResultCode::CANCELED, ""), out);
    }

    fn is_persisting(&self) -> bool {
        matches!(self.stage, Stage::Persist)
    }

    /// Whether the search stays after its refresh.
    fn stays(&self) -> bool {
        !matches!(self.kind, Kind::Sync { persist: false })
    }

    /// The entry, if it is in the content.
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

    /// Whether the entries below one that has moved must be looked at: when it came from outside
    /// the region or has left it. Where its old superior lies now says nothing if something was
    /// renamed since.
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
            // Gone since, and with it everything that was below and did not move away.
            return Ok(false);
        };
        let whole = Region {
            base: self.region.base,
            scope: RegionScope::Subtree,
        };
        Ok(renamed_since
            || context.in_region(&superior, &whole)? != context.in_region(&entry, &whole)?)
    }

    /// Whether a change takes the base away, or gives another entry its name (RFC 4533 §3.5.1).
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
            // What was below is told first, and then it is seen whether the base was there.
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

    /// Goes on with an entry that is sent in parts; `None` when there is none.
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
            // That it was deleted is told in its turn.
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

    /// RFC 4533 §3.5.4: the time limit is for the refresh.
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
