//! Explain: how a search is carried out, instead of what it finds. For the administrator.
//!
//! The search runs as it would without the control, also in an order and in pages; only, what it
//! finds is counted and not sent.

use crate::clock::Clock;
use crate::context::Context;
use crate::cursor::{AreaKind, Cursor};
use crate::operation::controls::SearchControls;
use protocol::control::{ExplainedPart, ExplainedRegion, Explanation};
use protocol::{OwnedControl, ResultCode, oid};
use state::advice;
use state::stop::Stop;
use store::FilterPart;

/// What is known of a search that is explained.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    regions: Vec<Explained>,
    /// Entries compared with the filter.
    pub tested: u64,
    /// Entries that would have been sent.
    pub matched: u64,
    /// Time its slices took, and when the one under way began.
    took_us: u64,
    slice_began_us: u64,
}

/// How one region is searched.
#[derive(Debug)]
struct Explained {
    base: String,
    plan: String,
    estimate: u64,
    scan: bool,
    advice: Vec<String>,
    parts: Vec<FilterPart>,
}

/// Notes the plan of a search, which then runs.
pub(crate) fn begin(
    context: &Context<'_>,
    cursor: &mut Cursor,
    asked: &SearchControls<'_>,
) -> Result<(), Stop> {
    if !context.sees_monitor() {
        return Stop::refuse(
            ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "only the administrator may have searches explained",
        );
    }
    if asked.count.is_some() {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "explain excludes matching entry counts",
        );
    }
    let mut explaining = Explaining::default();
    let schema = &context.catalog.schema;
    for area in cursor
        .areas
        .iter()
        .filter(|it| it.kind == AreaKind::Entries)
    {
        let plan = context.plan(&cursor.filter, &area.region)?;
        explaining.regions.push(Explained {
            base: context.spelled_name(area.region.base)?,
            plan: plan.explain(schema),
            estimate: plan.estimate(),
            scan: plan.is_scan(),
            advice: match plan.is_scan() || plan.is_unindexed() {
                true => advice::texts(context, &cursor.filter)?,
                false => Vec::new(),
            },
            parts: context.filter_parts(&cursor.filter)?,
        });
    }
    let extras = cursor.extras.get_or_insert_default();
    extras.explaining = Some(Box::new(explaining));
    Ok(())
}

/// What is known of a search, if it is explained.
#[inline]
pub(crate) fn of(cursor: &mut Cursor) -> Option<&mut Explaining> {
    cursor.extras.as_mut()?.explaining.as_deref_mut()
}

/// Notes how the entries come into their order, or that they do not.
pub(crate) fn note_order(cursor: &mut Cursor, order: impl FnOnce() -> String) {
    let Some(explaining) = of(cursor) else {
        return;
    };
    let order = order();
    for region in &mut explaining.regions {
        region.plan.push_str("; ");
        region.plan.push_str(&order);
    }
}

/// A slice of work begins.
pub(crate) fn slice_begins(cursor: &mut Cursor, clock: &dyn Clock) {
    if let Some(explaining) = of(cursor) {
        explaining.slice_began_us = clock.now_us();
    }
}

/// The same slice ends.
pub(crate) fn slice_ends(cursor: &mut Cursor, clock: &dyn Clock) {
    if let Some(explaining) = of(cursor) {
        let took_us = clock.now_us().saturating_sub(explaining.slice_began_us);
        explaining.took_us += took_us;
    }
}

impl Explaining {
    /// The control at the result.
    pub fn control(&self, examined: u64) -> OwnedControl {
        let explanation = Explanation {
            examined,
            tested: self.tested,
            matched: self.matched,
            microseconds: self.took_us,
            regions: self.regions.iter().map(Explained::encoded).collect(),
        };
        OwnedControl::with_value(oid::EXPLAIN, false, |out| explanation.encode(out))
    }
}

impl Explained {
    fn encoded(&self) -> ExplainedRegion<'_> {
        ExplainedRegion {
            base: &self.base,
            plan: &self.plan,
            estimate: self.estimate,
            scan: self.scan,
            advice: self.advice.iter().map(String::as_str).collect(),
            parts: self.parts.iter().map(encoded_part).collect(),
        }
    }
}

fn encoded_part(it: &FilterPart) -> ExplainedPart<'_> {
    ExplainedPart {
        depth: it.depth,
        filter: &it.filter,
        found_by: it.found_by.as_deref().unwrap_or_default(),
        estimate: it.estimate,
    }
}
