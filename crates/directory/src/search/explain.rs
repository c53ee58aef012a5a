//! Explain control: how a search is carried out, instead of the entries it finds. For the
//! administrator.
//!
//! The search runs as it would without the control, with the same order and pages, but the entries
//! found are counted instead of sent.

use crate::context::Context;
use crate::control::SearchControls;
use crate::search::area::{Area, AreaKind};
use crate::search::state::Search;
use protocol::control::{ExplainedPart, ExplainedRegion, Explanation};
use protocol::{OwnedControl, ResultCode, oid};
use state::advice;
use state::stop::Stop;
use store::FilterPart;

/// Facts gathered about an explained search.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    regions: Vec<Explained>,
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

impl Explaining {
    /// The plans of a search, which then runs.
    pub fn of(
        context: &Context<'_>,
        areas: &[Area],
        filter: &schema::Filter,
        asked: &SearchControls<'_>,
    ) -> Result<Explaining, Stop> {
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
        for area in areas.iter().filter(|it| it.kind == AreaKind::Entries) {
            let plan = context.plan(filter, &area.region)?;
            explaining.regions.push(Explained {
                base: context.spelled_name(area.region.base)?,
                plan: plan.explain(schema),
                estimate: plan.estimate(),
                scan: plan.is_scan(),
                advice: match plan.is_scan() || plan.is_unindexed() {
                    true => advice::texts(context, filter)?,
                    false => Vec::new(),
                },
                parts: context.filter_parts(filter)?,
            });
        }
        Ok(explaining)
    }

    /// Records how the entries are sorted, or why they cannot be.
    pub fn note_order(&mut self, order: &str) {
        for region in &mut self.regions {
            region.plan.push_str("; ");
            region.plan.push_str(order);
        }
    }

    /// Records the start of a slice.
    pub fn slice_begins(&mut self, now_us: u64) {
        self.slice_began_us = now_us;
    }

    /// Records the end of a slice.
    pub fn slice_ends(&mut self, now_us: u64) {
        self.took_us += now_us.saturating_sub(self.slice_began_us);
    }

    /// The response control with the explanation.
    pub fn control(&self, search: &Search) -> OwnedControl {
        let explanation = Explanation {
            examined: search.limits.examined,
            tested: search.criteria.tested,
            matched: search.sent,
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
