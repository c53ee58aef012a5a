//! The regions of a search that follows aliases: its own, and those below the targets of aliases in
//! them (RFC 4511 §4.5.1.3).
//!
//! No entry lies in two regions, so none is returned twice. All regions are found before the search
//! begins, in one turn of the thread, so the work is limited.

use crate::context::{Context, Place};
use crate::search::alias::{Aliased, Led, aliased, lead};
use crate::search::call::{Query, SearchCall};
use crate::search::limits;
use crate::search::limits::SearchLimits;
use protocol::ResultCode;
use schema::Filter;
use smallvec::SmallVec;
use state::stop::Stop;
use std::collections::HashSet;
use store::{EntryId, Region, RegionScope};

/// Maximum number of regions of one search.
const REGIONS_MAX: usize = 10_000;
/// Maximum number of entries looked at while following aliases; they take some seconds.
const LOOKED_AT_MAX: u64 = 1 << 20;
/// Number of those entries between two looks at the clock.
const LOOKED_AT_PER_TIME: u64 = 1_024;

// Page cookies count regions in 16 bits, with the regions of continuation references among them.
const _: () = assert!(2 * REGIONS_MAX <= u16::MAX as usize);

/// Work done by a search so far, which following aliases adds to, and its limits.
pub(crate) struct WorkDone {
    pub limits: SearchLimits,
    /// Start of the search, in microseconds; `None` until the clock was read.
    pub began_us: Option<u64>,
}

impl WorkDone {
    /// The state of a search that has done no work yet.
    pub fn of(call: &SearchCall<'_>, query: Query<'_>) -> WorkDone {
        WorkDone {
            limits: limits::of_search(query.request, &call.limits, query.is_paged()),
            began_us: None,
        }
    }
}

/// Regions to search: nearly always one or two.
pub(crate) type Regions = SmallVec<[Region; 2]>;

/// Adds the targets of aliases to a search's own regions: that of its base, and those of naming
/// contexts below it.
pub(crate) fn regions(
    context: &Context<'_>,
    call: &SearchCall<'_>,
    own: &[Region],
    work: &mut WorkDone,
) -> Result<Regions, Stop> {
    let scope = own.first().map(|it| it.scope);
    if matches!(scope, None | Some(RegionScope::Base)) {
        return Ok(own.into());
    }
    work.began_us = Some(call.lent.clock.now_us());
    let mut following = Following {
        context,
        call,
        work,
        filter: state::knowledge::class_filter(&context.catalog.schema, "alias"),
        own,
        goes_deep: scope != Some(RegionScope::OneLevel),
        targets: Vec::new(),
        known: HashSet::new(),
    };
    for region in own {
        following.follow_in(*region)?;
    }
    if following.goes_deep {
        let mut at = 0;
        while let Some(base) = following.targets.get(at).copied() {
            following.follow_in(following.region_of(base))?;
            at += 1;
        }
    }
    following.disjoint()
}

/// Progress of following the aliases of one search.
struct Following<'s, 'c, 'n> {
    context: &'s Context<'c>,
    call: &'s SearchCall<'n>,
    work: &'s mut WorkDone,
    /// The filter `(objectClass=alias)`.
    filter: Filter,
    /// The search's own regions, which share no entry.
    own: &'s [Region],
    /// Whether entries below a target are searched too.
    goes_deep: bool,
    /// Targets of aliases outside all regions found before them, in the order found.
    targets: Vec<EntryId>,
    /// The targets as a set.
    known: HashSet<EntryId>,
}

impl Following<'_, '_, '_> {
    /// The region searched at a target.
    fn region_of(&self, base: EntryId) -> Region {
        let scope = match self.goes_deep {
            true => RegionScope::Subtree,
            false => RegionScope::Base,
        };
        Region { base, scope }
    }

    /// Adds the targets of the aliases in a region.
    fn follow_in(&mut self, region: Region) -> Result<(), Stop> {
        let context = self.context;
        let plan = context.plan(&self.filter, &region)?;
        let candidates = context.candidates(&plan, EntryId(0))?;
        for entry in context.entries(&candidates, EntryId(0)) {
            let entry = entry?;
            self.look()?;
            // derefInSearching follows the aliases below the base, not the base itself.
            if entry.id == region.base || !context.in_region(&entry, &region)? {
                continue;
            }
            // An alias that leads nowhere must not end the whole search.
            let Aliased::Name(name) = aliased(&entry) else {
                continue;
            };
            if let Led::To(Place::Found(target)) = lead(context, &name)? {
                self.take(target)?;
            }
        }
        Ok(())
    }

    /// Counts one more entry looked at, and checks the limits.
    fn look(&mut self) -> Result<(), Stop> {
        let WorkDone { limits, began_us } = &mut *self.work;
        let settings = &self.call.catalog.limits;
        if limits.candidates_max != 0 && limits.examined >= limits.candidates_max {
            let text = limits::candidate_text(limits, settings);
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        if limits.examined >= LOOKED_AT_MAX {
            return too_much(format!("take a look at more than {LOOKED_AT_MAX} entries"));
        }
        limits.examined += 1;
        if limits.time_ms_max != 0 && limits.examined.is_multiple_of(LOOKED_AT_PER_TIME) {
            let now = self.call.lent.clock.now_us();
            let took_us = now.saturating_sub(began_us.unwrap_or(now));
            if took_us > limits.time_ms_max * 1_000 {
                let text = limits::time_text(limits, settings);
                return Stop::refuse(ResultCode::TIME_LIMIT_EXCEEDED, text);
            }
        }
        Ok(())
    }

    /// Adds the target of an alias, unless a region already holds it.
    fn take(&mut self, target: EntryId) -> Result<(), Stop> {
        if self.known.contains(&target) {
            return Ok(());
        }
        let context = self.context;
        let Some(entry) = context.entry(target)? else {
            return Ok(());
        };
        for region in self.own {
            if context.in_region(&entry, region)? {
                return Ok(());
            }
        }
        if self.goes_deep && context.is_below_any(&entry, &self.known)? {
            return Ok(());
        }
        if self.own.len() + self.targets.len() >= REGIONS_MAX {
            return too_much(format!("lead to more than {REGIONS_MAX} places"));
        }
        self.known.insert(target);
        self.targets.push(target);
        Ok(())
    }

    /// All regions except those inside another one: a target found later may stand above one found
    /// earlier.
    fn disjoint(&self) -> Result<Regions, Stop> {
        let found = self.targets.iter().map(|it| self.region_of(*it));
        let mut regions = Regions::new();
        for region in self.own.iter().copied().chain(found) {
            if !self.is_inside_another(region)? {
                regions.push(region);
            }
        }
        Ok(regions)
    }

    fn is_inside_another(&self, region: Region) -> Result<bool, Stop> {
        if !self.goes_deep {
            return Ok(false);
        }
        // The base entry is a target, so its region covers everything below it too.
        if region.scope == RegionScope::Subordinates && self.known.contains(&region.base) {
            return Ok(true);
        }
        match self.context.entry(region.base)? {
            Some(base) => self.context.is_below_any(&base, &self.known),
            None => Ok(false),
        }
    }
}

fn too_much<T>(what: String) -> Result<T, Stop> {
    Stop::refuse(
        ResultCode::ADMIN_LIMIT_EXCEEDED,
        format!("the aliases below the base {what}: choose a smaller base, or follow no aliases"),
    )
}
