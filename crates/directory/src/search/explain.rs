//! Explain control: how a search is carried out, instead of the entries it finds. For the
//! administrator.
//!
//! The search runs as it would without the control, with the same order and pages, but the entries
//! found are counted instead of sent.

use crate::context::Context;
use crate::control::SearchControls;
use crate::search::cursor::{AreaKind, Cursor};
use protocol::control::{ExplainedPart, ExplainedRegion, Explanation};
use protocol::{OwnedControl, ResultCode, oid};
use replica::Clock;
use state::advice;
use state::stop::Stop;
use store::FilterPart;

/// Facts gathered about an explained search.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    regions: Vec<Explained>,
    /// Number of entries compared with the filter.
    pub tested: u64,
    /// Number of entries that would have been sent.
    pub matched: u64,
    /// Time of its finished slices in microseconds, and the start of the current one.
    took_us: u64,
    slice_began_us: u64,
}

/// Plan of one region.
#[derive(Debug)]
struct Explained {
    base: String,
    plan: String,
    estimate: u64,
    scan: bool,
    advice: Vec<String>,
    parts: Vec<FilterPart>,
}

/// Records the plan of a search, which then runs.
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

/// The facts gathered so far; `None` if the search is not explained.
#[inline]
pub(crate) fn of(cursor: &mut Cursor) -> Option<&mut Explaining> {
    cursor.extras.as_mut()?.explaining.as_deref_mut()
}

/// Records how the entries are sorted, or why they cannot be.
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

/// Records the start of a slice.
pub(crate) fn slice_begins(cursor: &mut Cursor, clock: &dyn Clock) {
    if let Some(explaining) = of(cursor) {
        explaining.slice_began_us = clock.now_us();
    }
}

/// Records the end of a slice.
pub(crate) fn slice_ends(cursor: &mut Cursor, clock: &dyn Clock) {
    if let Some(explaining) = of(cursor) {
        let took_us = clock.now_us().saturating_sub(explaining.slice_began_us);
        explaining.took_us += took_us;
    }
}

impl Explaining {
    /// The response control with the explanation.
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
