//! State that all serving threads of a directory share.

use crate::account::hashing::HashPool;
use crate::feed::Feed;
use crate::monitor::Monitor;
use crate::places::Running;
use crate::ticket::Ticket;
use arc_swap::ArcSwap;
use policy::password::Scheme;
use policy::{LimitRule, LimitSettings, LimitSubject, Limits, VerifiedCache};
use replica::{Clock, Replica};
use schema::Schema;
use spool::Spools;
use spool::cookie::CookieKey;
use spool::list::Lists;
use spool::memory::Budget;
use state::catalog::Catalog;
use state::stop::Failure;
use std::sync::Arc;

/// State shared by all threads of a directory.
pub(crate) struct DirectoryState {
    pub catalog: Arc<ArcSwap<Catalog>>,
    pub clock: Arc<dyn Clock>,
    pub verified: Arc<VerifiedCache>,
    /// Cache of wrong passwords counted lately.
    pub wrong: VerifiedCache,
    /// Scheme under which new passwords are stored.
    pub scheme: Scheme,
    /// Whether binds and compares reveal that an account is locked.
    pub tells_locks: bool,
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
}

impl DirectoryState {
    /// Sets the limits for sessions that begin or bind from now on.
    ///
    /// # Errors
    /// A subject's name cannot be resolved; the limits are then unchanged.
    pub fn set_limits(
        &self,
        settings: &LimitSettings,
        rules: &[(LimitSubject<String>, Limits)],
    ) -> Result<(), Failure> {
        let limits = limits(&self.catalog.load().schema, settings, rules)?;
        self.catalog.rcu(|now| Catalog {
            limits: limits.clone(),
            ..Catalog::clone(now)
        });
        Ok(())
    }
}

/// The limits, with the names of subjects resolved.
pub(crate) fn limits(
    schema: &Schema,
    settings: &LimitSettings,
    rules: &[(LimitSubject<String>, Limits)],
) -> Result<LimitSettings, Failure> {
    let mut limits = settings.clone();
    for (subject, of_its_own) in rules {
        let resolve = |name: &str| {
            schema.resolve_name(name).map_err(|error| {
                let text = format!("subject_limits: \"{name}\": {error}");
                Failure::Configuration(text)
            })
        };
        let (subject, spelled) = subject.resolve(resolve)?;
        limits.rules.push(LimitRule {
            subject,
            spelled: spelled.to_owned(),
            limits: *of_its_own,
        });
    }
    Ok(limits)
}
