//! The entry that an identity of another system stands for.

use policy::access::rules::Reach;
use policy::mapping::{Outside, Sought};
use protocol::{FILTER_DEPTH_MAX, Filter};
use schema::{Name, Truth};
use state::catalog::Catalog;
use state::stop::{Failure, Stop};
use state::view::{Place, View};
use store::{EntryId, Region, RegionScope};

/// Maximum number of entries looked at to find the one. With an index there are one or two.
const CANDIDATES_MAX: usize = 1_000;

/// Result of looking for the entry of an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The entry.
    Entry(EntryId),
    /// The administrator, whom a rule names that is about this identity alone.
    Administrator,
    /// None, for a reason that the log may tell and the client may not.
    Nobody(String),
    /// It is not known, because no index finds the entry: the name of the rule.
    Unindexed(String),
}

/// Finds the entry of an identity. Filters find no entry that the subject of the view may not see:
/// for a bind it is the server.
///
/// # Errors
/// The store cannot be read.
pub fn find(view: &View<'_>, identity: &Outside<'_>) -> Result<Found, Stop> {
    let catalog = view.catalog;
    let mapped = match catalog.identities.of(&catalog.schema, identity) {
        Ok(Some(mapped)) => mapped,
        Ok(None) => return Ok(Found::Nobody("no rule matches it".to_owned())),
        Err(why) => return Ok(Found::Nobody(why)),
    };
    let nobody = |why: &str| Found::Nobody(format!("rule {}: {why}", mapped.rule));
    let found = match &mapped.sought {
        Sought::Entry { name, is_literal } => {
            if catalog
                .administrator
                .as_ref()
                .is_some_and(|it| it.name == *name)
            {
                return Ok(match is_literal {
                    true => Found::Administrator,
                    false => nobody("stars never stand for the administrator"),
                });
            }
            entry(view, name)?
        }
        Sought::Search {
            base,
            reach,
            filter,
        } => match only(view, base, *reach, filter)? {
            Only::Found(id) => Some(id),
            Only::None => None,
            Only::Several => return Ok(nobody("several entries match")),
            Only::Unindexed => return Ok(Found::Unindexed(mapped.rule.to_owned())),
        },
    };
    let Some(id) = found else {
        return Ok(nobody("no entry matches"));
    };
    let spelled = view.spelled_name(id)?;
    let name = catalog.schema.resolve_name(&spelled);
    let administrator = catalog.administrator.as_ref();
    // An entry may have the name with which the administrator binds, and is not the administrator.
    let is_account = name.is_ok_and(|it| {
        !it.is_within(&catalog.config) && administrator.is_none_or(|other| other.name != it)
    });
    Ok(match is_account {
        true => Found::Entry(id),
        false => nobody("expected an entry that is neither configuration nor administrator"),
    })
}

/// Finds the name as which an identity binds, or the reason why it stands for no entry, which the
/// log may tell and the client may not.
///
/// # Errors
/// The store cannot be read.
pub fn name_of(view: &View<'_>, identity: &Outside<'_>) -> Result<Result<Name, String>, Stop> {
    let administrator = view.catalog.administrator.as_ref();
    Ok(match (find(view, identity)?, administrator) {
        (Found::Entry(id), _) => {
            let name = view.catalog.schema.resolve_name(&view.spelled_name(id)?);
            name.map_err(|error| error.to_string())
        }
        (Found::Administrator, Some(administrator)) => Ok(administrator.name.clone()),
        (Found::Administrator, None) => Err("there is no administrator".to_owned()),
        (Found::Nobody(why), _) => Err(why),
        (Found::Unindexed(rule), _) => Err(format!("rule {rule} needs an equality index")),
    })
}

/// The name of an identity's entry if it is where the rules look first: the one that a rule names,
/// or directly below the base of a search, with the value that it is for. `None` if no rule says
/// so. It does not depend on which entries there are.
pub fn expected_name(catalog: &Catalog, identity: &Outside<'_>) -> Option<Name> {
    let mapped = catalog.identities.of(&catalog.schema, identity).ok()??;
    match mapped.sought {
        Sought::Entry { name, .. } => Some(name),
        Sought::Search { base, filter, .. } => {
            let mut reader = protocol::ber::Reader::new(&filter);
            let Ok(Filter::Equality { attribute, value }) =
                Filter::decode(&mut reader, FILTER_DEPTH_MAX)
            else {
                return None;
            };
            let mut rdn = format!("{attribute}=");
            protocol::escape_value(&mut rdn, value);
            let rdn = catalog.schema.resolve_rdn(&rdn).ok()?;
            Some(base.child(&rdn.normal))
        }
    }
}

fn entry(view: &View<'_>, name: &Name) -> Result<Option<EntryId>, Stop> {
    Ok(match view.find_any(name)? {
        Place::Found(id) => Some(id),
        Place::Missing { .. } => None,
    })
}

/// Result of a search for one entry.
enum Only {
    Found(EntryId),
    None,
    Several,
    Unindexed,
}

fn only(view: &View<'_>, base: &Name, reach: Reach, filter: &[u8]) -> Result<Only, Stop> {
    let base = match base.depth() {
        0 => EntryId::ROOT,
        _ => match entry(view, base)? {
            Some(base) => base,
            None => return Ok(Only::None),
        },
    };
    let mut reader = protocol::ber::Reader::new(filter);
    let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX).map_err(|error| {
        Failure::Configuration(format!("the filter of an identity rule: {error}"))
    })?;
    let filter = view.catalog.schema.resolve_filter(&filter);
    let scope = match reach {
        Reach::Entry => RegionScope::Base,
        Reach::One => RegionScope::OneLevel,
        Reach::Children => RegionScope::Subordinates,
        Reach::Subtree => RegionScope::Subtree,
    };
    let region = Region { base, scope };
    let plan = view.plan(&filter, &region)?;
    let candidates = view.candidates(&plan, EntryId::ROOT)?;
    let mut scratch = Vec::new();
    let mut found = Only::None;
    for (count, entry) in view.entries(&candidates, EntryId::ROOT).enumerate() {
        let entry = entry?;
        if count == CANDIDATES_MAX {
            return Ok(Only::Unindexed);
        }
        let matches = view.in_region(&entry, &region)?
            && entry.evaluate(&filter, &mut scratch)? == Truth::True;
        found = match (matches, found) {
            (false, found) => found,
            (true, Only::None) => Only::Found(entry.id),
            (true, _) => return Ok(Only::Several),
        };
    }
    Ok(found)
}
