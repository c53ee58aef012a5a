//! What each part of a filter would find by itself, for explanations.

use schema::Filter;

use super::explain::explain;
use super::planner::Planner;
use super::step::Step;
use crate::error::Error;
use crate::index_set::IndexSet;
use crate::snapshot::Snapshot;

/// Parts of a filter beyond this number are left out.
const PARTS_MAX: usize = 200;

/// One part of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterPart {
    /// How many filters it stands in.
    pub depth: u32,
    /// The part as text; of what holds other parts, only its operator.
    pub filter: String,
    /// Which index finds its entries, in words; nothing if none does.
    pub found_by: Option<String>,
    /// About how many entries that gives.
    pub estimate: u64,
}

/// The parts of a filter, each before those it holds.
///
/// # Errors
/// What LMDB says; [`Error::Corrupt`] for index rows that cannot be read.
pub fn filter_parts(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
) -> Result<Vec<FilterPart>, Error> {
    let planner = Planner { snapshot, indexes };
    let mut parts = Vec::new();
    // Filters are as deep as a request may be, which is little.
    let mut open = vec![(0, filter)];
    while let Some((depth, filter)) = open.pop() {
        if parts.len() == PARTS_MAX {
            break;
        }
        let step = planner.filter(filter)?;
        parts.push(FilterPart {
            depth,
            filter: match filter {
                Filter::And(_) => "(&…)".to_owned(),
                Filter::Or(_) => "(|…)".to_owned(),
                Filter::Not(_) => "(!…)".to_owned(),
                other => other.to_string(),
            },
            found_by: words(&step, indexes),
            estimate: planner.size(&step)?,
        });
        let inner = match filter {
            Filter::Not(inner) => std::slice::from_ref(&**inner),
            other => other.parts().unwrap_or_default(),
        };
        open.extend(inner.iter().rev().map(|it| (depth + 1, it)));
    }
    Ok(parts)
}

fn words(step: &Step, indexes: &IndexSet) -> Option<String> {
    if matches!(step, Step::Everything) {
        return None;
    }
    let mut text = String::new();
    let name = |type_id| indexes.schema.type_of(type_id).name().to_owned();
    explain(step, &name, &mut text);
    Some(text)
}
