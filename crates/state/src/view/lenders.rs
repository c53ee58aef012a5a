//! Subentries that lend collective attributes (RFC 3671), as they are stored.

use crate::catalog::Catalog;
use crate::knowledge::{COLLECTIVE_CLASS, class_filter};
use crate::stop::Stop;
use schema::{AttributeNumber, Filter, Name, SubtreeSpecification, Truth, TypeId};
use store::{EntryId, EntryView, Region, RegionScope, Snapshot};

/// A subentry that lends attributes.
pub(super) struct Lender {
    id: EntryId,
    pub spelled: String,
    /// The administrative point: the entry above the subentry.
    pub point: Name,
    pub subtrees: Vec<SubtreeSpecification>,
    pub attributes: Vec<Lent>,
}

/// A lent attribute, encoded as it is stored.
pub(super) struct Lent {
    pub type_id: TypeId,
    pub number: AttributeNumber,
    pub encoded: Box<[u8]>,
}

/// All subentries that lend attributes.
pub(super) fn read(snapshot: &Snapshot<'_>, catalog: &Catalog) -> Result<Vec<Lender>, Stop> {
    let schema = &catalog.schema;
    let everywhere = Region {
        base: EntryId::ROOT,
        scope: RegionScope::Subtree,
    };
    let filter = class_filter(schema, COLLECTIVE_CLASS);
    let plan = store::plan(snapshot, &catalog.indexes, &filter, &everywhere)?;
    let candidates = snapshot.candidates(&plan, EntryId::ROOT)?;
    let (mut lenders, mut scratch) = (Vec::new(), Vec::new());
    for found in candidates.entries_after(*snapshot, EntryId::ROOT) {
        let (id, view) = found?;
        if filter.evaluate(schema, &view, &mut scratch) == Truth::True {
            lenders.extend(lender(snapshot, catalog, id, &view)?);
        }
    }
    Ok(lenders)
}

/// What a subentry lends; `None` if no entry stands above it.
fn lender(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    id: EntryId,
    view: &EntryView<'_>,
) -> Result<Option<Lender>, Stop> {
    let schema = &catalog.schema;
    let mut spelled = Vec::with_capacity(64);
    snapshot.write_name(view, &mut spelled)?;
    let spelled = String::from_utf8_lossy(&spelled).into_owned();
    let name = schema.resolve_name(&spelled).ok();
    let Some(point) = name.and_then(|it| it.parent()) else {
        return Ok(None);
    };
    let mut subtrees = Vec::new();
    let mut attributes = Vec::new();
    for attribute in view.attributes() {
        let Some(known) = schema.known(attribute.number) else {
            continue;
        };
        if known.type_id == catalog.computed.subtree_specification {
            let texts = attribute.values().into_iter().map(String::from_utf8_lossy);
            subtrees.extend(texts.filter_map(|it| schema.subtree_specification(&it)));
        } else if schema.type_of(known.type_id).collective {
            attributes.push(Lent {
                type_id: known.type_id,
                number: attribute.number,
                encoded: attribute.encoded.into(),
            });
        }
    }
    Ok(Some(Lender {
        id,
        spelled,
        point,
        subtrees,
        attributes,
    }))
}

/// Adds to assertions that lent values satisfy the entries of the lenders' subtrees: no index holds
/// lent values. Recursion is bounded by the depth of the filter.
pub(super) fn widen(
    snapshot: &Snapshot<'_>,
    catalog: &Catalog,
    lenders: &[Lender],
    filter: &mut Filter,
) -> Result<(), Stop> {
    let schema = &catalog.schema;
    let each = |it: &mut Filter| widen(snapshot, catalog, lenders, it);
    let selectors = match filter {
        Filter::And(parts) => return parts.iter_mut().try_for_each(each),
        Filter::Or(parts) => return parts.try_change(each),
        Filter::Equality(it)
        | Filter::GreaterOrEqual(it)
        | Filter::LessOrEqual(it)
        | Filter::Approx(it) => std::slice::from_ref(&it.selector),
        Filter::Substrings(it) => std::slice::from_ref(&it.selector),
        Filter::Present(it) => std::slice::from_ref(it),
        Filter::Extensible(it) => &it.selectors,
        _ => return Ok(()),
    };
    let lends = |number: &AttributeNumber| {
        schema
            .known(*number)
            .is_some_and(|it| schema.type_of(it.type_id).collective)
    };
    if !selectors.iter().any(|it| it.numbers.iter().any(lends)) {
        return Ok(());
    }
    let mut scratch = Vec::new();
    let mut parts = Vec::new();
    for lender in lenders {
        let Some(view) = snapshot.entry(lender.id)? else {
            continue;
        };
        if filter.evaluate(schema, &view, &mut scratch) != Truth::True {
            continue;
        }
        for subtree in &lender.subtrees {
            let base = schema::joined(&lender.point, &subtree.base);
            parts.push(schema.within(&base));
        }
    }
    if !parts.is_empty() {
        parts.push(std::mem::replace(filter, Filter::False));
        *filter = Filter::Or(parts.into_iter().collect());
    }
    Ok(())
}
