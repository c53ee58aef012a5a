//! How much one subject may ask for at a time.

use crate::subject::Subject;

/// The limits one subject works under. In every field 0 means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries one search returns before sizeLimitExceeded; paged searches count per page.
    pub size_entries_max: u32,
    /// Milliseconds one search may take before timeLimitExceeded.
    pub time_ms_max: u32,
    /// Candidates one search may look at before adminLimitExceeded.
    pub candidates_max: u64,
    /// Operations one connection may have waiting before the next is answered `busy`.
    pub pending_operations_max: u32,
    /// Entries one page of a paged search may hold.
    pub page_entries_max: u32,
}

impl Limits {
    /// The limits that hold for `subject`.
    pub fn for_subject(subject: &Subject, settings: &LimitSettings) -> Limits {
        if subject.is_administrator() {
            settings.administrator
        } else {
            settings.everybody
        }
    }

    /// The entries a plain search may return when the client asks for at most `asked` (0: no
    /// wish). 0 means unlimited.
    pub fn size(&self, asked: u32) -> u32 {
        lower(self.size_entries_max, asked)
    }

    /// The milliseconds a search may take when the client asks for at most `asked_s` seconds
    /// (0: no wish). 0 means unlimited.
    pub fn time_ms(&self, asked_s: u32) -> u32 {
        lower(self.time_ms_max, asked_s.saturating_mul(1000))
    }
}

fn lower(limit: u32, asked: u32) -> u32 {
    match (limit, asked) {
        (0, asked) => asked,
        (limit, 0) => limit,
        (limit, asked) => limit.min(asked),
    }
}

/// The limits as configured: for everybody, and for the administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSettings {
    /// What holds for every subject but the administrator.
    pub everybody: Limits,
    /// What holds for the administrator.
    pub administrator: Limits,
}

impl Default for LimitSettings {
    fn default() -> Self {
        LimitSettings {
            everybody: Limits {
                size_entries_max: 5_000,
                time_ms_max: 60_000,
                candidates_max: 0,
                pending_operations_max: 4_096,
                page_entries_max: 5_000,
            },
            administrator: Limits {
                size_entries_max: 0,
                time_ms_max: 0,
                candidates_max: 0,
                pending_operations_max: 65_536,
                page_entries_max: 0,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_of_limit_and_wish_holds_and_zero_is_no_limit() {
        let limits = LimitSettings::default().everybody;
        assert_eq!(limits.size(0), 5_000);
        assert_eq!(limits.size(10), 10);
        assert_eq!(limits.size(10_000), 5_000);
        assert_eq!(limits.time_ms(0), 60_000);
        assert_eq!(limits.time_ms(2), 2_000);
        assert_eq!(limits.time_ms(u32::MAX), 60_000);
        let administrator = LimitSettings::default().administrator;
        assert_eq!(administrator.size(0), 0);
        assert_eq!(administrator.size(7), 7);
    }

    #[test]
    fn the_administrator_has_limits_of_its_own() {
        let settings = LimitSettings::default();
        let nobody = Subject::anonymous(None, false);
        assert_eq!(Limits::for_subject(&nobody, &settings), settings.everybody);
    }
}
