//! The limits of a server, each with a counter of the times at which it was reached.
//!
//! Invariant: whoever refuses, cuts short or ends anything because of a limit calls
//! [`Limit::count`] once. Counters belong to the process, and begin at 0 when it starts. A limit is
//! reached seldom, so that its counter may be memory that threads share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Makes the limits, each with its name.
macro_rules! limits {
    ($( $(#[doc = $about:literal])+ $Limit:ident = $name:literal, )+) => {
        /// A limit.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Limit { $( $(#[doc = $about])+ $Limit, )+ }

        impl Limit {
            /// All limits, in the order of the settings.
            pub const ALL: &[Limit] = &[$(Limit::$Limit,)+];

            /// The name: of the setting with its section, or words where no setting has the limit.
            pub fn name(self) -> &'static str {
                match self { $(Limit::$Limit => $name,)+ }
            }
        }
    };
}

limits! {
    /// Connections at a time.
    Connections = "connections.total_max",
    /// Connections at a time from one address.
    ConnectionsOfAddress = "connections.per_address_max",
    /// Length of a message.
    MessageBytes = "connections.message_bytes_max",
    /// Length of a message of an anonymous client.
    AnonymousMessageBytes = "connections.anonymous_message_bytes_max",
    /// Wrong passwords on an account or from an address.
    WrongPasswords = "connections.wrong_passwords_max",
    /// Memory kept for all clients together.
    Memory = "connections.memory_mib_max",
    /// Memory kept for one connection.
    MemoryOfConnection = "connections.memory_each_mib_max",
    /// Time without a request.
    IdleTime = "connections.idle_timeout_s",
    /// Time for a message, a TLS handshake or the header of a proxy.
    MessageTime = "connections.message_timeout_s",
    /// Time without taking a response.
    WriteTime = "connections.write_timeout_s",
    /// Rate at which a message comes.
    ReceiveRate = "connections.receive_bytes_per_s_min",
    /// Rate at which responses are taken.
    SendRate = "connections.send_bytes_per_s_min",
    /// Time for which requests wait for a serving thread.
    QueueDelay = "connections.queue_delay_ms_max",
    /// Entries of one search.
    SizeEntries = "limits.size_entries_max",
    /// Time of one search.
    SearchTime = "limits.time_s_max",
    /// Entries that one search looks at.
    Candidates = "limits.candidates_max",
    /// Searches without an index at a time.
    UnindexedSearches = "limits.unindexed_searches_max",
    /// Operations that wait on one connection.
    PendingOperations = "limits.pending_operations_max",
    /// Entries in one page.
    PageEntries = "limits.page_entries_max",
    /// Entries in all pages of one search.
    PagedEntries = "limits.paged_entries_max",
    /// Entries that one search sorts.
    SortEntries = "limits.sort_entries_max",
    /// Searches that stay.
    Followers = "limits.followers_max",
    /// Open transactions of one connection.
    OpenTransactions = "limits.transactions_open_max",
    /// Updates of one transaction.
    TransactionUpdates = "limits.transaction_updates_max",
    /// Bytes of the open transactions of one connection.
    TransactionBytes = "limits.transaction_bytes_max",
    /// Time to live of a dynamic entry.
    TimeToLive = "dynamic_entries.ttl_max_s",
    /// Bytes of temporary files.
    SpoolBytes = "database.spool_mib_max",
    /// Password checks that wait, and how long they wait.
    WaitingChecks = "waiting password checks",
}

static COUNTS: [AtomicU64; Limit::ALL.len()] = [const { AtomicU64::new(0) }; Limit::ALL.len()];

impl Limit {
    /// Counts that the limit was reached.
    #[cold]
    pub fn count(self) {
        COUNTS[self as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often the limit was reached since the process began.
    pub fn reached(self) -> u64 {
        COUNTS[self as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_limit_has_a_counter_and_a_name_of_its_own() {
        let names: BTreeSet<&str> = Limit::ALL.iter().map(|it| it.name()).collect();
        assert_eq!(names.len(), Limit::ALL.len());
        let before = Limit::ALL.iter().map(|it| it.reached());
        let before: Vec<u64> = before.collect();
        Limit::Candidates.count();
        for (limit, before) in Limit::ALL.iter().zip(before) {
            let more = u64::from(*limit == Limit::Candidates);
            assert_eq!(limit.reached(), before + more, "{limit:?}");
        }
    }
}
