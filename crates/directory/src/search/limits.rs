//! The limits of a search, and the texts of results when a limit stops it.

use policy::{Limit, LimitSettings, SubjectLimits, Whose};
use protocol::SearchRequest;

/// Reason why a search ends before its last candidate.
pub(crate) enum End {
    PageFull,
    /// More entries match than may be sorted.
    SortLimit,
    SizeLimit,
    PagedLimit,
    CandidateLimit,
}

/// Limits of one search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchLimits {
    /// Maximum number of entries to return, over all pages; 0 for no limit.
    pub entries_max: u64,
    /// Whether `entries_max` is the server's limit rather than the client's.
    pub by_server: bool,
    /// Number of entries returned by earlier pages.
    pub sent_before: u64,
    /// Maximum number of entries of all pages together; 0 for no limit.
    pub paged_entries_max: u64,
    /// The subject or group to which the server's limits apply.
    pub whose: Whose,
    /// Time limit in milliseconds; 0 for no limit.
    pub time_ms_max: u64,
    /// Whether the time limit is the server's rather than the client's.
    pub time_by_server: bool,
    /// Maximum number of candidates looked at; 0 for no limit.
    pub candidates_max: u64,
    /// Number of candidates looked at so far.
    pub examined: u64,
    /// Maximum number of entries sorted by one search; 0 for no limit.
    pub sort_entries_max: u64,
}

impl SearchLimits {
    /// Whether the time limit of a search that began at `began_us` is over at `now_us`
    /// (microseconds).
    pub fn is_late(&self, began_us: u64, now_us: u64) -> bool {
        let limit = self.time_ms_max;
        limit != 0 && now_us.saturating_sub(began_us) > limit * 1_000
    }
}

/// The limits of one search.
pub(crate) fn of_search(
    request: &SearchRequest<'_>,
    limits: &SubjectLimits,
    paged: bool,
) -> SearchLimits {
    let server = if paged {
        0
    } else {
        u64::from(limits.size_entries_max)
    };
    let client = u64::from(request.size_limit);
    let by_server = server != 0 && (client == 0 || server < client);
    let client_ms = u64::from(request.time_limit_s) * 1_000;
    let server_ms = u64::from(limits.time_ms_max);
    SearchLimits {
        entries_max: if by_server { server } else { client },
        by_server,
        sent_before: 0,
        paged_entries_max: limits.paged_entries_max,
        whose: limits.whose,
        time_by_server: server_ms != 0 && (client_ms == 0 || server_ms < client_ms),
        time_ms_max: match (client_ms, server_ms) {
            (0, limit) | (limit, 0) => limit,
            (client, server) => client.min(server),
        },
        candidates_max: limits.candidates_max,
        examined: 0,
        sort_entries_max: u64::from(limits.sort_entries_max),
    }
}

/// Text of a search stopped by the limit on its entries, which is counted if it is the server's.
pub(crate) fn size_text(limits: &SearchLimits, settings: &LimitSettings) -> String {
    let limit = limits.entries_max;
    if !limits.by_server {
        return format!("the request's own size limit of {limit} entries; more match");
    }
    Limit::SizeEntries.count();
    format!(
        "size limit of {limit} entries for {}; more match: use the simple paged results control \
         (ldapsearch -E pr={limit}/noprompt) or narrow the filter",
        settings.describe(limits.whose)
    )
}

/// Text of a search stopped by the limit on the entries of all pages, which is counted.
pub(crate) fn paged_text(limits: &SearchLimits, settings: &LimitSettings) -> String {
    Limit::PagedEntries.count();
    format!(
        "limit of {} entries in all pages of a search together for {}; more match: narrow the \
         filter",
        limits.paged_entries_max,
        settings.describe(limits.whose)
    )
}

/// Text of a search stopped by the limit on entries looked at, which is counted.
pub(crate) fn candidate_text(limits: &SearchLimits, settings: &LimitSettings) -> String {
    Limit::Candidates.count();
    format!(
        "limit of {} entries looked at by one search for {}: use an attribute that is indexed, a \
         smaller base, or the simple paged results control with small pages",
        limits.candidates_max,
        settings.describe(limits.whose)
    )
}

/// Text of a search stopped by the time limit, which is counted if it is the server's.
pub(crate) fn time_text(limits: &SearchLimits, settings: &LimitSettings) -> String {
    let limit = limits.time_ms_max;
    if limits.time_by_server {
        Limit::SearchTime.count();
        let whose = settings.describe(limits.whose);
        format!(
            "time limit of {limit} ms for {whose}: narrow the filter, or use the simple paged \
             results control (ldapsearch -E pr=500/noprompt)"
        )
    } else {
        format!("the request's own time limit of {limit} ms")
    }
}

/// Text of a search refused by the limit on sorted entries, which is counted.
pub(crate) fn sort_text(
    limits: &SearchLimits,
    settings: &LimitSettings,
    attribute: &str,
) -> String {
    Limit::SortEntries.count();
    format!(
        "limit of {} entries sorted for {}: have {attribute} indexed for ordering, narrow the \
         filter, or use the simple paged results control (ldapsearch -E pr=500/noprompt)",
        limits.sort_entries_max,
        settings.describe(limits.whose)
    )
}
