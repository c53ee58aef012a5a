//! Dynamic groups: entries of the class `groupOfURLs`, whose members are the entries that the
//! searches in `memberURL` find. Their filters test stored attributes alone, so that no group
//! depends on itself, and never secret ones.

use super::pace::LOOKS_PER_NAME;
use super::plain::PlainView;
use super::served::Permit;
use super::stored::StoredEntry;
use crate::done;
use crate::knowledge::DYNAMIC_GROUP_CLASS;
use crate::knowledge::class_filter;
use crate::progress::Progress;
use crate::stop::Stop;
use protocol::Scope;
use protocol::url::LdapUrl;
use roaring::RoaringTreemap;
use schema::{Filter, Truth};
use std::ops::ControlFlow;
use std::rc::Rc;
use store::{Candidates, EntryId, EntryView, Lookup, Region, RegionScope};

/// Maximum depth of a filter in a `memberURL`.
const FILTER_DEPTH_MAX: u8 = 32;

/// A dynamic group.
#[derive(Debug)]
pub(super) struct DynamicGroup {
    pub id: EntryId,
    searches: Vec<(Region, Filter)>,
}

/// All dynamic groups of the directory, read once per operation.
#[derive(Debug, Default)]
pub(super) struct DynamicGroups {
    all: Option<Rc<[DynamicGroup]>>,
    reading: Reading,
}

/// Progress of reading all dynamic groups.
#[derive(Debug, Default)]
struct Reading {
    candidates: Option<Candidates>,
    after: EntryId,
    groups: Vec<DynamicGroup>,
}

impl DynamicGroups {
    /// Reads the groups until all are read or the slice ends.
    pub fn read(&mut self, view: &PlainView<'_>) -> Result<Progress<Rc<[DynamicGroup]>>, Stop> {
        if let Some(all) = &self.all {
            return Ok(Progress::Done(Rc::clone(all)));
        }
        done!(view.read_dynamic_groups(&mut self.reading)?);
        let all: Rc<[DynamicGroup]> = std::mem::take(&mut self.reading).groups.into();
        self.all = Some(Rc::clone(&all));
        Ok(Progress::Done(all))
    }
}

/// Iterator over the entries that the searches of a dynamic group find, each once. It keeps no
/// reference to a snapshot.
#[derive(Debug)]
pub struct Described {
    searches: Vec<(Region, Filter)>,
    /// Index of the search being run.
    at: usize,
    candidates: Option<Candidates>,
    after: EntryId,
    /// Entries found so far, if several searches may find the same entry.
    met: RoaringTreemap,
    looked: u64,
    permit: Option<Box<dyn Permit>>,
}

/// Callback for each candidate of a dynamic group: the id of a member, or `None` for a candidate
/// that is none or was a member before. It decides whether to go on.
pub type EachDescribed<'e> =
    dyn FnMut(Option<EntryId>) -> Result<Progress<ControlFlow<()>>, Stop> + 'e;

impl Described {
    /// Goes back to the first search.
    pub fn begin_anew(&mut self) {
        (self.at, self.candidates, self.after) = (0, None, EntryId::ROOT);
        self.met.clear();
    }
}

impl PlainView<'_> {
    /// Reads dynamic groups until all are read or the slice ends.
    fn read_dynamic_groups(&self, reading: &mut Reading) -> Result<Progress<()>, Stop> {
        let schema = &self.catalog.schema;
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let filter = class_filter(schema, DYNAMIC_GROUP_CLASS);
        let candidates = match reading.candidates.take() {
            Some(candidates) => candidates,
            None => {
                let plan = self.plan(&filter, &everywhere)?;
                self.candidates(&plan, EntryId::ROOT)?
            }
        };
        let read = self.read_among(reading, &filter, &candidates)?;
        if let Progress::Yield = read {
            reading.candidates = Some(candidates);
        }
        Ok(read)
    }

    fn read_among(
        &self,
        reading: &mut Reading,
        filter: &Filter,
        candidates: &Candidates,
    ) -> Result<Progress<()>, Stop> {
        let mut scratch = Vec::new();
        for found in candidates.entries_after(*self.snapshot, reading.after) {
            let (id, view) = found?;
            done!(self.pace.look(LOOKS_PER_NAME));
            if filter.evaluate(&self.catalog.schema, &view, &mut scratch) == Truth::True {
                let searches = self.searches_of(&view)?;
                reading.groups.push(DynamicGroup { id, searches });
            }
            reading.after = id;
        }
        Ok(Progress::Done(()))
    }

    /// The searches that the `memberURL` values of an entry describe.
    fn searches_of(&self, view: &EntryView<'_>) -> Result<Vec<(Region, Filter)>, Stop> {
        let schema = &self.catalog.schema;
        let mut searches = Vec::new();
        for number in schema.numbers_of(self.catalog.computed.member_url) {
            let Some(attribute) = view.attribute(*number) else {
                continue;
            };
            for url in attribute.values() {
                searches.extend(self.search_of_url(url)?);
            }
        }
        Ok(searches)
    }

    /// The entry as a dynamic group; `None` if it is none.
    fn dynamic_group(&self, id: EntryId) -> Result<Option<DynamicGroup>, Stop> {
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(None);
        };
        let schema = &self.catalog.schema;
        let filter = class_filter(schema, DYNAMIC_GROUP_CLASS);
        if filter.evaluate(schema, &view, &mut Vec::new()) != Truth::True {
            return Ok(None);
        }
        let searches = self.searches_of(&view)?;
        Ok(Some(DynamicGroup { id, searches }))
    }

    /// Whether an entry may be a dynamic group.
    pub(super) fn has_description(&self, view: &EntryView<'_>) -> bool {
        let numbers = self
            .catalog
            .schema
            .numbers_of(self.catalog.computed.member_url);
        self.catalog.has_dynamic_groups && numbers.iter().any(|it| view.attribute(*it).is_some())
    }

    /// The search that a `memberURL` describes; `None` if it names another server or no entry of
    /// this one.
    fn search_of_url(&self, url: &[u8]) -> Result<Option<(Region, Filter)>, Stop> {
        let schema = &self.catalog.schema;
        // Text behind a space is a label (RFC 2079).
        let text = String::from_utf8_lossy(url);
        let text = text.split(' ').next().unwrap_or("");
        let Ok(url) = LdapUrl::parse(text) else {
            return Ok(None);
        };
        let Ok(name) = schema.resolve_name(&url.dn) else {
            return Ok(None);
        };
        if !url.host.is_empty() || name.depth() == 0 {
            return Ok(None);
        }
        let Lookup::Found(base) = self.snapshot.find(&name)? else {
            return Ok(None);
        };
        let encoded = protocol::parse_filter(url.filter.as_deref().unwrap_or("(objectClass=*)"));
        let Ok(encoded) = encoded else {
            return Ok(None);
        };
        let mut reader = protocol::ber::Reader::new(&encoded);
        let Ok(filter) = protocol::Filter::decode(&mut reader, FILTER_DEPTH_MAX) else {
            return Ok(None);
        };
        let scope = match url.scope.unwrap_or(Scope::BaseObject) {
            Scope::BaseObject => RegionScope::Base,
            Scope::SingleLevel => RegionScope::OneLevel,
            Scope::WholeSubtree => RegionScope::Subtree,
            Scope::Subordinate => RegionScope::Subordinates,
        };
        let mut filter = schema.resolve_filter(&filter);
        // Members are the same for every subject, so secret attributes and the state of accounts
        // are undefined for all.
        self.catalog.access.guarded().conceal(schema, &mut filter);
        Ok(Some((Region { base, scope }, filter)))
    }

    /// Whether one of a dynamic group's searches finds an entry.
    pub(super) fn describes(
        &self,
        group: &DynamicGroup,
        id: EntryId,
        view: &EntryView<'_>,
    ) -> Result<bool, Stop> {
        let mut scratch = Vec::new();
        for (region, filter) in &group.searches {
            if self.snapshot.is_within(id, view, region)?
                && self.is_found(filter, id, view, &mut scratch)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an entry as stored matches the filter of a dynamic group.
    fn is_found(
        &self,
        filter: &Filter,
        id: EntryId,
        view: &EntryView<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let truth = StoredEntry::evaluate(self, id, view, filter, scratch)?;
        Ok(truth == Truth::True)
    }

    /// Whether an entry is a member of a dynamic group.
    pub fn is_dynamic_member(&self, group: EntryId, id: EntryId) -> Result<bool, Stop> {
        let Some(group) = self.dynamic_group(group)? else {
            return Ok(false);
        };
        match self.snapshot.entry(id)? {
            Some(view) => self.describes(&group, id, &view),
            None => Ok(false),
        }
    }

    /// Iterator over the members of a dynamic group; `None` if the entry is no such group.
    pub fn described_by(&self, group: EntryId) -> Result<Option<Described>, Stop> {
        let group = self.dynamic_group(group)?;
        Ok(group.map(|it| Described {
            searches: it.searches,
            at: 0,
            candidates: None,
            after: EntryId::ROOT,
            met: RoaringTreemap::new(),
            looked: 0,
            permit: None,
        }))
    }

    /// Continues the iteration: calls `each` for every candidate, with its id if it is a member not
    /// shown before, else with `None`. Returns true after the last candidate; false when `each`
    /// breaks or yields, or one slice of candidates was collected. If `each` yields, the next call
    /// repeats the candidate.
    pub fn walk_described(
        &self,
        walk: &mut Described,
        each: &mut EachDescribed<'_>,
    ) -> Result<bool, Stop> {
        while walk.at < walk.searches.len() {
            let (region, filter) = &walk.searches[walk.at];
            let mut candidates = match walk.candidates.take() {
                Some(candidates) => candidates,
                None => {
                    let plan = self.plan(filter, region)?;
                    if plan.is_unindexed() && walk.permit.is_none() {
                        walk.permit = self.admit_walk(filter)?;
                    }
                    self.begin_candidates(&plan, EntryId::ROOT)?
                }
            };
            let goes_on =
                self.gather(&mut candidates)? && self.walk_search(walk, &candidates, each)?;
            if !goes_on {
                walk.candidates = Some(candidates);
                return Ok(false);
            }
            walk.at += 1;
            walk.after = EntryId::ROOT;
        }
        Ok(true)
    }

    /// Whether a dynamic group has more members than this, found by looking.
    pub fn has_more_members(&self, mut walk: Described, most: u64) -> Result<bool, Stop> {
        let (mut members, mut all) = (0, false);
        while !all && members <= most {
            all = self.walk_described(&mut walk, &mut |found| {
                members += u64::from(found.is_some());
                Ok(Progress::Done(match members > most {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }))
            })?;
        }
        Ok(members > most)
    }

    /// One of the searches; false when `each` breaks or yields.
    fn walk_search(
        &self,
        walk: &mut Described,
        candidates: &Candidates,
        each: &mut EachDescribed<'_>,
    ) -> Result<bool, Stop> {
        let (region, filter) = &walk.searches[walk.at];
        let mut scratch = Vec::new();
        for entry in candidates.entries_after(*self.snapshot, walk.after) {
            let (id, view) = entry?;
            walk.looked += 1;
            self.require_effort(walk.looked, filter)?;
            let is_member = self.snapshot.is_within(id, &view, region)?
                && !walk.met.contains(id.0)
                && self.is_found(filter, id, &view, &mut scratch)?;
            let Progress::Done(flow) = each(is_member.then_some(id))? else {
                return Ok(false);
            };
            walk.after = id;
            if is_member && walk.searches.len() > 1 {
                walk.met.insert(id.0);
            }
            if flow.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
