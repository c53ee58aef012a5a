//! Limits of a search on the walks over dynamic groups that it asks for.

use crate::places::Running;
use policy::{Limit, SubjectLimits};
use protocol::ResultCode;
use schema::Filter;
use state::stop::Stop;
use state::view::{Permit, PlainView, WalkLimits};
use std::cell::Cell;
use std::sync::Arc;

/// The limits of a search, and what of them its walks have used up.
pub(crate) struct GroupWalkLimits {
    running: Arc<Running>,
    limits: SubjectLimits,
    /// When the first walk of this slice began (microseconds); `None` before it.
    began_us: Cell<Option<u64>>,
}

impl GroupWalkLimits {
    /// The limits of a subject.
    pub fn boxed(running: &Arc<Running>, limits: SubjectLimits) -> Box<dyn WalkLimits> {
        Box::new(GroupWalkLimits {
            running: Arc::clone(running),
            limits,
            began_us: Cell::new(None),
        })
    }
}

impl WalkLimits for GroupWalkLimits {
    fn admit(
        &self,
        view: &PlainView<'_>,
        filter: &Filter,
    ) -> Result<Option<Box<dyn Permit>>, Stop> {
        let permit = self.running.place(view, filter, &self.limits)?;
        Ok(permit.map(|it| Box::new(it) as Box<dyn Permit>))
    }

    fn entries_max(&self) -> Option<u64> {
        let limit = self.limits.candidates_max;
        (limit != 0).then_some(limit)
    }

    fn require_time(&self, view: &PlainView<'_>) -> Result<(), Stop> {
        let limit = u64::from(self.limits.time_ms_max);
        let now = view.now_us();
        let began = self.began_us.get().unwrap_or(now);
        self.began_us.set(Some(began));
        if limit == 0 || now.saturating_sub(began) <= limit * 1_000 {
            return Ok(());
        }
        Limit::SearchTime.count();
        let whose = view.catalog.limits.describe(self.limits.whose);
        Stop::refuse(
            ResultCode::TIME_LIMIT_EXCEEDED,
            format!(
                "time limit of {limit} ms for {whose}: the search of a dynamic group (memberURL) \
                 takes longer"
            ),
        )
    }
}
