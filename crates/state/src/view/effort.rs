//! Limits on walks over the members of dynamic groups: no index need help the searches that such
//! groups are made of.

use super::plain::{PlainView, WalkLimits};
use super::served::Permit;
use crate::advice;
use crate::stop::Stop;
use protocol::ResultCode;
use schema::Filter;

/// Entries between two looks at the clock.
const LOOKS: u64 = 1_024;

impl PlainView<'_> {
    /// Holds walks over groups to the limits of a search. `limits` is called where there are
    /// dynamic groups and no limits yet.
    #[inline]
    pub fn limit_walks(&self, limits: impl FnOnce() -> Box<dyn WalkLimits>) {
        if self.catalog.has_dynamic_groups {
            self.limits.get_or_init(limits);
        }
    }

    /// A place for a walk that no index helps, until it is dropped; `None` where none is needed.
    pub(super) fn admit_walk(&self, filter: &Filter) -> Result<Option<Box<dyn Permit>>, Stop> {
        match self.limits.get() {
            Some(limits) => limits.admit(self, filter),
            None => Ok(None),
        }
    }

    /// Refuses a walk for a dynamic group that has looked at so many entries.
    pub(super) fn require_effort(&self, looked: u64, filter: &Filter) -> Result<(), Stop> {
        let limits = self.limits.get();
        let most = self.pace.looks_max();
        let most = match limits.and_then(|it| it.entries_max()) {
            None => most,
            Some(own) => own.min(most),
        };
        if looked > most {
            let advice = advice::sentence(self, filter)?;
            let text = format!(
                "the search of a dynamic group (memberURL) looks at more than {most} \
                 entries{advice}"
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        match limits {
            Some(limits) if looked.is_multiple_of(LOOKS) => limits.require_time(self),
            _ => Ok(()),
        }
    }
}
