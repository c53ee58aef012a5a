//! State that all serving threads of a directory share.

use crate::account::hashing::HashPool;
use crate::feed::Feed;
use crate::monitor::Monitor;
use crate::places::Running;
use crate::ticket::Ticket;
use arc_swap::ArcSwap;
use policy::{Guesses, LimitSettings, LimitSubject, Limits, VerifiedCache};
use replica::attempts::Recording;
use replica::witnesses::OwnWitnesses;
use replica::{Clock, Replica};
use spool::Spools;
use spool::cookie::CookieKey;
use spool::list::Lists;
use spool::memory::Budget;
use state::catalog::Catalog;
use state::config::resolve_rules;
use state::stop::Failure;
use std::sync::Arc;

/// State shared by all threads of a directory.
pub(crate) struct DirectoryState {
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub verified: Arc<VerifiedCache>,
    /// Cache of wrong passwords counted lately.
    pub wrong: VerifiedCache,
    /// Limits on wrong passwords.
    pub guesses: Guesses,
    pub cookie_key: CookieKey,
    /// Identifier of this directory's order of writes, which distinguishes its positions from
    /// others.
    pub log: [u8; 16],
    pub hashes: HashPool,
    pub feed: Arc<Feed>,
    pub replica: Replica<Ticket>,
    pub monitor: Arc<Monitor>,
    pub unindexed: Arc<Running>,
    pub spools: Arc<Spools>,
    /// Kept sorted lists, of which views and pages show parts.
    pub lists: Arc<Lists>,
    pub memory: Arc<Budget>,
    pub witnesses: OwnWitnesses,
    /// Failed binds and denials for the audit; `None` if no lines are written about them.
    pub recording: Option<Recording>,
}

impl DirectoryState {
    /// Sets the limits for sessions that begin or bind from now on; in a cluster, where the
    /// directory has them, checks the given ones alone.
    ///
    /// # Errors
    /// A subject's name cannot be resolved; the limits are then unchanged.
    pub fn set_limits(
        &self,
        settings: &LimitSettings,
        rules: &[(LimitSubject<String>, Limits)],
    ) -> Result<(), Failure> {
        let limits = resolve_rules(&self.catalog.load().schema, settings, rules)?;
        self.catalog.rcu(|now| {
            let mut next = Catalog::clone(now);
            if !next.shares_settings {
                next.limits = limits.clone();
            }
            next
        });
        Ok(())
    }
}
