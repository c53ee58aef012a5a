//! Steps of a plan as text for people.

use schema::TypeId;

use super::step::{FoundIds, Step, Why};
use crate::index::order::Side;

/// Appends a step as text to `out`; `name` returns the names of attribute types.
pub(super) fn explain(step: &Step, name: &dyn Fn(TypeId) -> String, out: &mut String) {
    match step {
        Step::Nothing => out.push_str("nothing can match"),
        Step::Everything => out.push_str("scan of all entries"),
        Step::Found { why, ids } => {
            match why {
                Why::Base => out.push_str("the base entry"),
                Why::Region => out.push_str("entries of the region"),
                Why::Name => out.push_str("entry of that name"),
                Why::Links => out.push_str("links between entries"),
                Why::Index(kind, type_id) => {
                    out.push_str(&format!("{} index of {}", kind.name(), name(*type_id)));
                }
            }
            let count = match ids {
                FoundIds::One(_) => 1,
                FoundIds::Several(ids) => ids.len(),
            };
            out.push_str(&format!(" ({count})"));
        }
        Step::Posting {
            key,
            type_id,
            estimate,
        }
        | Step::Bucket {
            key,
            type_id,
            estimate,
        } => {
            out.push_str(&format!("{} index of {}", key.kind.name(), name(*type_id)));
            out.push_str(&format!(" ({estimate})"));
        }
        Step::Order {
            type_id,
            side,
            estimate,
            ..
        } => {
            let side = if matches!(side, Side::From) {
                ">="
            } else {
                "<="
            };
            out.push_str(&format!(
                "ordering index of {} {side} ({estimate})",
                name(*type_id)
            ));
        }
        Step::Owners {
            type_id, estimate, ..
        } => out.push_str(&format!("links of {} ({estimate})", name(*type_id))),
        Step::Members { estimate, .. } => {
            out.push_str(&format!("members of a group ({estimate})"));
        }
        Step::Children { count, .. } => out.push_str(&format!("entries of the region ({count})")),
        Step::Gathered(ids) => out.push_str(&format!("collected entries ({})", ids.len())),
        Step::Listed(ids) => out.push_str(&format!("links between entries ({})", ids.len())),
        Step::Union(parts) => explain_parts("any of", parts, name, out),
        Step::Intersection(parts) => explain_parts("all of", parts, name, out),
    }
}

fn explain_parts(word: &str, parts: &[Step], name: &dyn Fn(TypeId) -> String, out: &mut String) {
    out.push_str(word);
    for (at, part) in parts.iter().enumerate() {
        out.push_str(if at == 0 { " [" } else { ", " });
        explain(part, name, out);
    }
    out.push(']');
}
