//! Places of unindexed searches: a subject may run only a limited number at a time.

use crate::search::slice;
use policy::{Limit, SubjectLimits};
use protocol::ResultCode;
use schema::Filter;
use state::advice;
use state::stop::Stop;
use state::view::PlainView;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts of the running unindexed searches by subject, or by address for anonymous clients.
/// Searches that fit into one slice are not counted.
#[derive(Debug, Default)]
pub(crate) struct Running {
    by_subject: Mutex<HashMap<String, u32>>,
}

/// A running search's place; dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Permit {
    running: Arc<Running>,
    subject: String,
}

impl Running {
    /// A place for one more search of a subject; `None` if it has `max` already (0 for no limit).
    fn admit(self: &Arc<Self>, subject: &str, max: u32) -> Option<Permit> {
        let mut by_subject = self.by_subject();
        let own = by_subject.entry(subject.to_owned()).or_default();
        if max != 0 && *own >= max {
            return None;
        }
        *own += 1;
        Some(Permit {
            running: Arc::clone(self),
            subject: subject.to_owned(),
        })
    }

    fn by_subject(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.by_subject
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl state::view::Permit for Permit {}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut by_subject = self.running.by_subject();
        if let Some(own) = by_subject.get_mut(&self.subject) {
            *own -= 1;
            if *own == 0 {
                by_subject.remove(&self.subject);
            }
        }
    }
}

/// Whether one slice can read every entry.
pub(crate) fn is_small(context: &PlainView<'_>) -> Result<bool, Stop> {
    Ok(context.entry_count()? <= slice::TURNS.into())
}

impl Running {
    /// A place for an unindexed search of a subject with these limits; `None` in a small directory,
    /// where no search needs one. Refuses with `busy` at the limit.
    pub fn place(
        self: &Arc<Self>,
        context: &PlainView<'_>,
        filter: &Filter,
        limits: &SubjectLimits,
    ) -> Result<Option<Permit>, Stop> {
        if is_small(context)? {
            return Ok(None);
        }
        let max = limits.unindexed_searches_max;
        if let Some(permit) = self.admit(&context.subject.purse(), max) {
            return Ok(Some(permit));
        }
        Limit::UnindexedSearches.count();
        let whose = context.catalog.limits.describe(limits.whose);
        let advice = advice::sentence(context, filter)?;
        Stop::refuse(
            ResultCode::BUSY,
            format!(
                "limit of {max} searches at a time that no index helps (unindexed_searches_max), \
                 for {whose}: try again later{advice}"
            ),
        )
    }
}
