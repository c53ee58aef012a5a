//! Dynamic groups: entries of the class `groupOfURLs`, whose members a search finds
//! (`memberURL`). Their filters see what is stored in an entry, so that no group can depend on
//! itself.

use super::Context;
use crate::config::DYNAMIC_GROUP_CLASS;
use crate::operation;
use crate::stop::Stop;
use protocol::Scope;
use protocol::url::LdapUrl;
use schema::{Filter, Truth};
use store::{EntryId, EntryView, Lookup, Region, RegionScope};

/// Depth of a filter in a `memberURL`.
const FILTER_DEPTH_MAX: u8 = 32;

/// A dynamic group of this snapshot.
pub(super) struct DynamicGroup {
    id: EntryId,
    searches: Vec<(Region, Filter)>,
}

impl Context<'_> {
    /// Every dynamic group, read once per operation.
    fn dynamic_groups(&self) -> Result<&[DynamicGroup], Stop> {
        if let Some(groups) = self.memory.dynamic.get() {
            return Ok(groups);
        }
        let groups = self.read_dynamic_groups()?;
        Ok(self.memory.dynamic.get_or_init(|| groups))
    }

    fn read_dynamic_groups(&self) -> Result<Vec<DynamicGroup>, Stop> {
        let schema = &self.catalog.schema;
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let filter = operation::class_filter(schema, DYNAMIC_GROUP_CLASS);
        let plan = self.plan(&filter, &everywhere)?;
        let candidates = self.candidates(&plan, EntryId::ROOT)?;
        let (mut groups, mut scratch) = (Vec::new(), Vec::new());
        for found in candidates.entries_after(*self.snapshot, EntryId::ROOT) {
            let (id, view) = found?;
            if filter.evaluate(schema, &view, &mut scratch) != Truth::True {
                continue;
            }
            let mut searches = Vec::new();
            for number in schema.numbers_of(self.catalog.computed.member_url) {
                let Some(attribute) = view.attribute(*number) else {
                    continue;
                };
                for url in attribute.values() {
                    searches.extend(self.search_of_url(url)?);
                }
            }
            groups.push(DynamicGroup { id, searches });
        }
        Ok(groups)
    }

    /// What a `memberURL` searches; `None` when it names another server, or nothing here.
    fn search_of_url(&self, url: &[u8]) -> Result<Option<(Region, Filter)>, Stop> {
        let schema = &self.catalog.schema;
        // What follows a space is a label (RFC 2079).
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
        Ok(Some((
            Region { base, scope },
            schema.resolve_filter(&filter),
        )))
    }

    /// Adds the dynamic groups whose search finds an entry.
    pub(super) fn add_dynamic_groups_of(
        &self,
        id: EntryId,
        groups: &mut Vec<EntryId>,
    ) -> Result<(), Stop> {
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(());
        };
        for group in self.dynamic_groups()? {
            if self.describes(group, id, &view)? {
                groups.push(group.id);
            }
        }
        Ok(())
    }

    fn describes(
        &self,
        group: &DynamicGroup,
        id: EntryId,
        view: &EntryView<'_>,
    ) -> Result<bool, Stop> {
        let mut scratch = Vec::new();
        for (region, filter) in &group.searches {
            if self.snapshot.is_within(id, view, region)?
                && filter.evaluate(&self.catalog.schema, view, &mut scratch) == Truth::True
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a dynamic group's search finds an entry.
    pub fn is_dynamic_member(&self, group: EntryId, id: EntryId) -> Result<bool, Stop> {
        let groups = self.dynamic_groups()?;
        let Some(group) = groups.iter().find(|it| it.id == group) else {
            return Ok(false);
        };
        match self.snapshot.entry(id)? {
            Some(view) => self.describes(group, id, &view),
            None => Ok(false),
        }
    }

    /// The entries a dynamic group's searches find, each once; none of any other entry.
    pub(super) fn dynamic_members(&self, group: EntryId) -> Result<Vec<EntryId>, Stop> {
        let groups = self.dynamic_groups()?;
        let Some(group) = groups.iter().find(|it| it.id == group) else {
            return Ok(Vec::new());
        };
        let (mut found, mut scratch) = (Vec::new(), Vec::new());
        let mut looked = 0;
        for (region, filter) in &group.searches {
            let plan = self.plan(filter, region)?;
            if plan.is_unindexed() {
                self.admit_walk(filter)?;
            }
            let candidates = self.candidates(&plan, EntryId::ROOT)?;
            for entry in candidates.entries_after(*self.snapshot, EntryId::ROOT) {
                let (id, view) = entry?;
                looked += 1;
                self.require_effort(looked, filter)?;
                if self.snapshot.is_within(id, &view, region)?
                    && filter.evaluate(&self.catalog.schema, &view, &mut scratch) == Truth::True
                {
                    found.push(id);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
