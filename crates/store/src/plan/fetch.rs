//! Executing a plan: fetching its candidates.

use std::sync::Arc;

use roaring::RoaringTreemap;
use schema::AttributeNumber;

use super::costs::{ENOUGH, NARROWING_MAX};
use super::step::{FoundIds, Step};
use crate::candidates::Candidates;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{self, Holders};
use crate::index::posting;
use crate::snapshot::Snapshot;

/// Returns the candidates of a step with ids greater than `after`.
pub(super) fn fetch(
    snapshot: &Snapshot<'_>,
    step: &Step,
    after: EntryId,
) -> Result<Candidates, Error> {
    let candidates = fetch_all(snapshot, step)?;
    Ok(beyond(candidates, after))
}

fn fetch_all(snapshot: &Snapshot<'_>, step: &Step) -> Result<Candidates, Error> {
    let pending = snapshot.pending.map(|it| &it.postings);
    Ok(match step {
        Step::Nothing => Candidates::None,
        Step::Everything => Candidates::Scan,
        Step::Found {
            ids: FoundIds::One(id),
            ..
        } => Candidates::One(*id),
        Step::Found {
            ids: FoundIds::Several(ids),
            ..
        } => Candidates::from_ids(ids.clone()),
        Step::Bucket { key, .. } => {
            let table = snapshot.tables.index;
            match equality::holders(snapshot.transaction, table, key, usize::MAX)? {
                Holders::Nobody | Holders::Many(_) => Candidates::None,
                Holders::One(id) => Candidates::One(id),
                Holders::Few(ids) => Candidates::from_ids(ids),
                // The holders have moved there since the plan was made on an older snapshot.
                Holders::Posted => {
                    let table = snapshot.tables.posting;
                    Candidates::from_set(posting::ids(snapshot.transaction, table, pending, key)?)
                }
            }
        }
        Step::Posting { key, .. } => {
            let table = snapshot.tables.posting;
            Candidates::from_set(posting::ids(snapshot.transaction, table, pending, key)?)
        }
        Step::Order { .. } | Step::Children { .. } | Step::Members { .. } => {
            let mut set = RoaringTreemap::new();
            step.walk(snapshot, &[], |_, id| {
                if !id.is_root() {
                    set.insert(id.0);
                }
                true
            })?;
            Candidates::from_set(set)
        }
        Step::Gathered(ids) => Candidates::from_set(ids.clone()),
        Step::Listed(ids) => Candidates::Listed(Arc::clone(ids)),
        Step::Owners { base, .. } => owners(snapshot, *base)?,
        Step::Union(parts) => {
            let mut all = Candidates::None;
            for part in parts {
                all = all.or(fetch_all(snapshot, part)?);
            }
            all
        }
        Step::Intersection(parts) => {
            let mut left = Candidates::Scan;
            for part in parts {
                let worth = match left.count() {
                    None => true,
                    Some(count) if count <= ENOUGH => false,
                    // A slow part may be skipped, since the filter is evaluated on each candidate.
                    Some(_) if part.is_slow() => false,
                    Some(count) => part.rough_size() < count.saturating_mul(NARROWING_MAX),
                };
                if worth {
                    left = left.and(fetch_all(snapshot, part)?);
                }
            }
            left
        }
    })
}

/// Returns the entries that have links of an attribute.
fn owners(snapshot: &Snapshot<'_>, base: AttributeNumber) -> Result<Candidates, Error> {
    let mut ids = Vec::new();
    snapshot.each_owner(base, EntryId::ROOT, |id, owns| {
        ids.extend(owns.then_some(id));
        true
    })?;
    Ok(Candidates::from_ids(ids))
}

fn beyond(candidates: Candidates, after: EntryId) -> Candidates {
    if after.is_root() {
        return candidates;
    }
    match candidates {
        Candidates::None => Candidates::None,
        Candidates::One(id) if id > after => Candidates::One(id),
        Candidates::One(_) => Candidates::None,
        Candidates::Ids(mut ids) => {
            ids.drain(..ids.partition_point(|id| *id <= after));
            Candidates::from_ids(ids)
        }
        Candidates::Set(mut set) => {
            set.remove_range(..=after.0);
            Candidates::from_set(set)
        }
        // These candidates are walked from `after` on.
        all @ (Candidates::Scan
        | Candidates::Listed(_)
        | Candidates::Gathering(_)
        | Candidates::Members { .. }) => all,
    }
}
