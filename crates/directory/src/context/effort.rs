//! Limits on walks over the members of dynamic groups: the searches in `memberURL` may be ones that
//! no index helps, so they count against the limits of the subject that asked.

use super::Context;
use crate::advice;
use crate::operation::unindexed::{Permit, Running};
use crate::stop::Stop;
use policy::{Limits, Whose};
use protocol::ResultCode;
use schema::Filter;
use std::cell::Cell;
use std::sync::Arc;

/// Entries between two looks at the clock.
const LOOKS: u64 = 1_024;

/// The limits of a search, and the start of its walks.
pub(crate) struct Effort {
    running: Arc<Running>,
    limits: (Limits, Whose),
    /// Time at which the first walk of this slice began, in microseconds; `None` before it.
    began_us: Cell<Option<u64>>,
}

impl Effort {
    /// Limits of one subject.
    #[cold]
    fn new(running: &Arc<Running>, limits: (Limits, Whose)) -> Effort {
        Effort {
            running: Arc::clone(running),
            limits,
            began_us: Cell::new(None),
        }
    }
}

impl Context<'_> {
    /// Subjects walks over groups in this context to the limits of a search.
    #[inline]
    pub fn limit_walks(&self, running: &Arc<Running>, limits: (Limits, Whose)) {
        if self.catalog.has_dynamic_groups {
            let effort = || Box::new(Effort::new(running, limits));
            self.effort.get_or_init(effort);
        }
    }

    /// A place among the unindexed searches of the subject, held until it is dropped; `None` if the
    /// walk needs none.
    pub(super) fn admit_walk(&self, filter: &Filter) -> Result<Option<Permit>, Stop> {
        let Some(effort) = self.effort.get() else {
            return Ok(None);
        };
        let (limits, whose) = effort.limits;
        let limit = (limits.unindexed_searches_max, whose);
        effort.running.place(self, filter, limit)
    }

    /// Refuses a walk for a dynamic group that has looked at more entries, or taken longer, than
    /// the limits allow.
    pub(super) fn require_effort(&self, looked: u64, filter: &Filter) -> Result<(), Stop> {
        let limits = self.effort.get().map(|it| it.limits);
        let own = limits.map_or(0, |(limits, _)| limits.candidates_max);
        let most = match own {
            0 => self.looks_max(),
            own => own.min(self.looks_max()),
        };
        if looked > most {
            let advice = advice::sentence(self, filter)?;
            let text = format!(
                "the search of a dynamic group (memberURL) looks at more than {most} \
                 entries{advice}"
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        match looked % LOOKS {
            0 => self.require_time(),
            _ => Ok(()),
        }
    }

    fn require_time(&self) -> Result<(), Stop> {
        let (Some(effort), Some(clock)) = (self.effort.get(), self.clock) else {
            return Ok(());
        };
        let (limits, whose) = effort.limits;
        let limit = u64::from(limits.time_ms_max);
        let now = clock.now_us();
        let began = effort.began_us.get().unwrap_or(now);
        effort.began_us.set(Some(began));
        if limit == 0 || now.saturating_sub(began) <= limit * 1_000 {
            return Ok(());
        }
        let whose = self.catalog.limits.describe(whose);
        Stop::refuse(
            ResultCode::TIME_LIMIT_EXCEEDED,
            format!(
                "time limit of {limit} ms for {whose}: the search of a dynamic group (memberURL) \
                 takes longer"
            ),
        )
    }
}
