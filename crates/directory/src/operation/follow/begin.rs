//! Begins a search that follows the directory: checks the request and chooses the first stage.

use crate::context::Context;
use crate::control::Controls;
use crate::operation::follow::follower::*;
use crate::places::Permit;
use crate::search::area::{Area, AreaKind};
use crate::search::call::{Query, SearchCall};
use crate::search::criteria::Criteria;
use crate::search::group_walk_limits::GroupWalkLimits;
use crate::search::{areas, unindexed};
use protocol::control::{Assertion, PersistentSearch, SyncMode, SyncRequest};
use protocol::{DerefAliases, ResultCode, Scope, SearchRequest};
use roaring::RoaringTreemap;
use state::history::sync_cookie::{self, Held};
use state::history::{Detail, Extent, Moment};
use state::progress::Progress;
use state::projection::Projection;
use state::stop::Stop;
use state::{done, heavy, links};
use store::EntryId;

/// Begins the search that `controls` ask for, without sending anything yet. Yields if the slice is
/// over before the search has begun.
pub(crate) fn begin(
    call: &SearchCall<'_>,
    context: &Context<'_>,
    query: Query<'_>,
) -> Result<Progress<Follower>, Stop> {
    let (request, controls) = (query.request, query.controls);
    let id = query.message.id;
    refuse_combinations(request, controls)?;
    let region = done!(areas::region(context, call, query)?);
    let catalog = context.catalog;
    let mut filter = Vec::with_capacity(64);
    request.filter.encode(&mut filter);
    let limits = &*call.limits;
    let client_ms = request.time_limit_s.saturating_mul(1_000);
    let mut follower = Follower {
        id,
        kind: Kind::Sync { persist: false },
        stage: Stage::Scan(Scan::new(Purpose::Send)),
        region,
        base: crate::operation::resolve_name(&catalog.schema, request.base)?,
        asked: KeptRequest {
            filter,
            attributes: request
                .attributes
                .iter()
                .map(|it| (*it).to_owned())
                .collect(),
            types_only: request.types_only,
            schema: catalog.schema.clone(),
        },
        criteria: Criteria {
            manage_dsa_it: controls.manage_dsa_it,
            ..Criteria::new(schema::Filter::False)
        },
        projection: Projection::default(),
        rid: 0,
        at: Moment::default(),
        members: RoaringTreemap::new(),
        memory: call.session.buffers.beside(),
        learned: Moment::default(),
        walk: None,
        lost: None,
        spools: context.spools().cloned(),
        large: None,
        base_lost: None,
        gone: Vec::new(),
        ahead: Ahead::default(),
        unchanged: Vec::new(),
        silent: 0,
        sent: 0,
        size_max: u64::from(lower(limits.size_entries_max, request.size_limit)),
        time_ms_max: u64::from(lower(limits.time_ms_max, client_ms)),
        candidates_max: limits.candidates_max,
        examined: 0,
        began_us: None,
        listener: None,
        permit: None,
        walks: None,
        subject: None,
        buffer: Vec::with_capacity(128),
    };
    done!(follower.resolve(context, call)?);
    follower.choose(context, controls)?;
    follower.permit = follower.admission(context, call)?;
    if follower.stays() {
        let (purse, max) = (context.subject.purse(), limits.followers_max);
        follower.listener = Some(call.listen(call.session, id, &purse, max)?);
    }
    Ok(Progress::Done(follower))
}

/// Refuses controls and bases that a following search cannot have.
fn refuse_combinations(request: &SearchRequest<'_>, controls: &Controls<'_>) -> Result<(), Stop> {
    if controls.sync.is_some() && controls.persistent_search.is_some() {
        let text = "content synchronisation and persistent search exclude each other";
        return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
    }
    if controls.page.is_some() {
        let text = "a search that follows the directory has no pages";
        return Stop::refuse(ResultCode::UNWILLING_TO_PERFORM, text);
    }
    let others = controls.search.as_deref();
    if others.is_some_and(|it| !it.leaves_content()) {
        let text = "a search that follows the directory cannot be combined with sorting, views, \
                    counts, matched values, subentries, dereferencing or account states";
        return Stop::refuse(ResultCode::UNWILLING_TO_PERFORM, text);
    }
    // The draft of persistent search has no such rule, and JNDI's listeners always ask for
    // dereferencing; aliases are then sent as entries.
    let derefs = matches!(
        request.deref_aliases,
        DerefAliases::InSearching | DerefAliases::Always
    );
    if derefs && controls.sync.is_some() {
        let text = "expected neverDerefAliases or derefFindingBaseObj (RFC 4533 §3.5.2)";
        return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
    }
    if request.base.is_empty() && request.scope == Scope::BaseObject {
        let text = "the root DSE is made for each reader and cannot be followed";
        return Stop::refuse(ResultCode::UNWILLING_TO_PERFORM, text);
    }
    Ok(())
}

impl Scan {
    pub(super) fn new(purpose: Purpose) -> Scan {
        Scan {
            purpose,
            candidates: None,
            after: EntryId(0),
        }
    }
}

impl Follower {
    /// Resolves filter and attributes under the present schema. Yields when walks over groups use
    /// up the slice.
    pub(super) fn resolve(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
    ) -> Result<Progress<()>, Stop> {
        let catalog = context.catalog;
        // The value of an assertion control is a filter in BER, as the kept filter is.
        let asked = match Assertion::decode(&self.asked.filter) {
            Ok(asked) => asked.filter,
            Err(error) => {
                return Stop::refuse(ResultCode::PROTOCOL_ERROR, format!("filter: {error}"));
            }
        };
        heavy::refuse_undivided(&asked)?;
        let now_s = || call.now_s();
        let mut filter = catalog.schema.resolve_filter_with(&asked, &now_s);
        context.narrow(&mut filter);
        let area = Area {
            region: self.region,
            kind: AreaKind::Entries,
        };
        context.limit_walks(|| GroupWalkLimits::boxed(&call.shared.unindexed, call.limits));
        let regions = std::iter::once(&area.region);
        done!(links::follow(context, &mut filter, regions)?);
        self.criteria = Criteria {
            manage_dsa_it: self.criteria.manage_dsa_it,
            ..Criteria::new(filter)
        };
        let attributes: Vec<&str> = self.asked.attributes.iter().map(String::as_str).collect();
        self.projection = Projection::of(catalog, &attributes, self.asked.types_only);
        self.projection.leave_out_computed();
        self.asked.schema = catalog.schema.clone();
        Ok(Progress::Done(()))
    }

    /// Resolves again for a running search whose schema changed.
    pub(super) fn resolve_again(
        &mut self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
    ) -> Result<Progress<()>, Stop> {
        context.take_up(self.walks.take());
        context.divide_walks(true);
        let resolved = self.resolve(context, call);
        context.divide_walks(false);
        if let Ok(Progress::Yield) = resolved {
            context.leave_unfinished(EntryId(0));
            self.walks = context.walks_for_later();
        }
        resolved
    }

    /// Chooses the first stage.
    fn choose(&mut self, context: &Context<'_>, controls: &Controls<'_>) -> Result<(), Stop> {
        let extent = context.extent()?;
        (self.at, self.learned) = (extent.newest, extent.newest);
        if let Some(asked) = &controls.sync {
            let persist = asked.mode == SyncMode::RefreshAndPersist;
            self.kind = Kind::Sync { persist };
            self.begin_sync(context, asked, &extent)?;
        } else if let Some(asked) = &controls.persistent_search {
            self.kind = Kind::Persistent(*asked);
            self.begin_persistent(asked);
        }
        Ok(())
    }

    /// A place among the unindexed searches; `None` if the first stage reads no entries, or an
    /// index narrows the search down.
    fn admission(
        &self,
        context: &Context<'_>,
        call: &SearchCall<'_>,
    ) -> Result<Option<Permit>, Stop> {
        let looks = match self.stage {
            Stage::Scan(_) => true,
            Stage::Delta { .. } => self.stays(),
            Stage::Persist => false,
        };
        match looks
            && context
                .plan(&self.criteria.filter, &self.region)?
                .is_unindexed()
        {
            true => unindexed::permit(context, call, &self.criteria.filter),
            false => Ok(None),
        }
    }

    /// Chooses how to bring the client's copy to the present state.
    fn begin_sync(
        &mut self,
        context: &Context<'_>,
        asked: &SyncRequest<'_>,
        extent: &Extent,
    ) -> Result<(), Stop> {
        let (held, rid) = sync_cookie::parse(asked.cookie);
        self.rid = rid;
        let usable = match held {
            Held::Nothing => return Ok(()),
            Held::Unknown => None,
            Held::Moment(moment) => self.way_from(context, moment, extent)?,
        };
        match usable {
            Some(stage) => self.stage = stage,
            // Sending the whole content answers any cookie: entries not sent are gone.
            None if asked.reload_hint => {}
            None => {
                return Stop::refuse(
                    ResultCode::E_SYNC_REFRESH_REQUIRED,
                    "the cookie is of no state that this server can go on from; \
                     begin without a cookie, or with reloadHint",
                );
            }
        }
        Ok(())
    }

    /// The stages from the client's state to the present one; `None` if the history does not reach
    /// back to it.
    fn way_from(
        &self,
        context: &Context<'_>,
        held: Moment,
        extent: &Extent,
    ) -> Result<Option<Stage>, Stop> {
        if held > extent.newest || held.time_us < extent.born_us {
            return Ok(None);
        }
        if held.time_us < extent.oldest_us {
            let compare = Stage::Scan(Scan::new(Purpose::Compare(held)));
            return Ok((held.time_us >= extent.moved_us).then_some(compare));
        }
        if !context.knows(held)? {
            return Ok(None);
        }
        let (mut lost, base) = (false, self.region.base);
        context.changes_after(held, |_, change| {
            lost = self.loses_base(context, &change)?
                || change.entry == base && change.detail == Detail::None && change.is_add();
            Ok(!lost)
        })?;
        let seen = RoaringTreemap::new();
        Ok((!lost).then_some(Stage::Delta { from: held, seen }))
    }

    fn begin_persistent(&mut self, asked: &PersistentSearch) {
        use protocol::control::ChangeType::Delete;
        if asked.changes_only {
            // Only deletions need the set of entries that were in the content.
            self.stage = if asked.wants(Delete) {
                Stage::Scan(Scan::new(Purpose::Learn))
            } else {
                Stage::Persist
            };
        }
    }
}

/// The lower of two limits, where 0 means no limit.
fn lower(limit: u32, asked: u32) -> u32 {
    match (limit, asked) {
        (0, it) | (it, 0) => it,
        (limit, asked) => limit.min(asked),
    }
}
