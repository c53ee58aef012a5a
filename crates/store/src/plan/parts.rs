//! The plan of each part of a filter by itself, for explanations.

use schema::Filter;

use super::explain::explain;
use super::planner::Planner;
use super::step::Step;
use crate::error::Error;
use crate::index_set::IndexSet;
use crate::snapshot::Snapshot;

/// Number of parts of a filter that are explained; further ones are left out.
const PARTS_MAX: usize = 200;

/// One part of a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterPart {
    /// Number of filters that enclose the part.
    pub depth: u32,
    /// The part as text; of a part that encloses others, only its operator.
    pub filter: String,
    /// The index that finds its entries, as text; `None` if none does.
    pub found_by: Option<String>,
    /// Approximate number of entries found.
    pub estimate: u64,
}

/// Returns the parts of a filter, each before those it encloses.
///
/// # Errors
/// Errors of LMDB; [`Error::Corrupt`] for index rows that cannot be read.
pub fn filter_parts(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    filter: &Filter,
) -> Result<Vec<FilterPart>, Error> {
    let planner = Planner { snapshot, indexes };
    let mut parts = Vec::new();
    // The depth of a filter is bounded where requests are decoded.
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
