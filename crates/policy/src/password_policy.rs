//! Password policy (draft-behera-ldap-password-policy-11): the standing of a password under a
//! policy, and the changes of an account's state by bind attempts. Pure: times are arguments.
//!
//! Invariant: events have unique times, and applying an event to a state that contains it changes
//! nothing. So events not yet stored can be applied again to the stored state.

#[cfg(test)]
mod tests;

use crate::password::Hashing;
use crate::quality::Quality;

/// Microseconds in a second.
const SECOND_US: u64 = 1_000_000;
/// The last success is stored with this fraction of the idle time as its precision.
const IDLE_SHARE: u64 = 100;
/// The coarsest precision of the last success, in seconds.
const IDLE_COARSE_S_MAX: u64 = 3_600;

/// The settings of a policy (§5.2). A number of 0 means "not set".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicy {
    /// pwdMinAge: seconds before a password may be changed again.
    pub min_age_s: u64,
    /// pwdMaxAge: seconds after which a password expires.
    pub max_age_s: u64,
    /// pwdInHistory: number of former passwords that cannot be used again.
    pub in_history: u64,
    /// pwdCheckQuality: 0, 1 (checked if possible) or 2 (refused if it cannot be checked).
    pub check_quality: u64,
    /// pwdMinLength, in characters.
    pub min_length: u64,
    /// pwdMaxLength, in characters.
    pub max_length: u64,
    /// pwdExpireWarning: seconds before expiry from which binds return a warning.
    pub expire_warning_s: u64,
    /// pwdGraceAuthNLimit: number of binds that an expired password still allows.
    pub grace_limit: u64,
    /// pwdGraceExpiry: seconds after expiry in which these binds are allowed.
    pub grace_expiry_s: u64,
    /// pwdLockout: whether failures lock the account.
    pub lockout: bool,
    /// pwdLockoutDuration: seconds of a lock; 0 until an administrator unlocks the account.
    pub lockout_duration_s: u64,
    /// pwdMaxFailure: number of failures that locks the account.
    pub max_failure: u64,
    /// pwdFailureCountInterval: seconds after which a failure no longer counts.
    pub failure_interval_s: u64,
    /// pwdMaxRecordedFailure: number of failures kept on record.
    pub max_recorded_failure: u64,
    /// pwdMustChange: whether a password set by another subject must be changed first.
    pub must_change: bool,
    /// pwdAllowUserChange: whether users may change their own password.
    pub allow_user_change: bool,
    /// pwdSafeModify: whether a change must include the old password.
    pub safe_modify: bool,
    /// pwdMinDelay: seconds after the first failure in which no password is accepted.
    pub min_delay_s: u64,
    /// pwdMaxDelay: greatest delay in seconds; delays double with each failure.
    pub max_delay_s: u64,
    /// pwdMaxIdle: seconds without a bind after which the account is locked.
    pub max_idle_s: u64,
    /// pwdDefaultHash: scheme and cost of new passwords; `None` for those of the setting, also if
    /// the value names no scheme or a cost beyond the limits.
    pub hashing: Option<Hashing>,
    /// pwdRehashOnBind: whether a password is hashed anew after a bind; `None` for the setting.
    pub rehash_on_bind: Option<bool>,
    /// Rules for new passwords beside their length, where `check_quality` is not 0.
    pub quality: Quality,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        PasswordPolicy {
            min_age_s: 0,
            max_age_s: 0,
            in_history: 0,
            check_quality: 0,
            min_length: 0,
            max_length: 0,
            expire_warning_s: 0,
            grace_limit: 0,
            grace_expiry_s: 0,
            lockout: false,
            lockout_duration_s: 0,
            max_failure: 0,
            failure_interval_s: 0,
            max_recorded_failure: 0,
            must_change: false,
            allow_user_change: true,
            safe_modify: false,
            min_delay_s: 0,
            max_delay_s: 0,
            max_idle_s: 0,
            hashing: None,
            rehash_on_bind: None,
            quality: Quality::default(),
        }
    }
}

/// The kind of an account's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Locked by an administrator until one unlocks it (pwdAccountLockedTime 000001010000Z).
    ForGood,
    /// Locked by failures, at this second since 1970.
    Since(u64),
}

/// The operational attributes of an entry about its password (§5.3). Times count from 1970, in the
/// unit that ends the name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountState {
    /// pwdChangedTime.
    pub changed_s: Option<u64>,
    /// pwdAccountLockedTime.
    pub locked: Option<Lock>,
    /// pwdFailureTime, in order.
    pub failures_us: Vec<u64>,
    /// pwdGraceUseTime, in order.
    pub grace_uses_us: Vec<u64>,
    /// pwdReset.
    pub reset: bool,
    /// pwdLastSuccess.
    pub last_success_s: Option<u64>,
    /// pwdStartTime.
    pub start_s: Option<u64>,
    /// pwdEndTime.
    pub end_s: Option<u64>,
}

/// The outcome of a password check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    /// The password was wrong.
    Failed,
    /// The password was right.
    Succeeded,
    /// The password was right and expired, and was accepted as a grace bind.
    Grace,
}

/// A password check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Outcome of the check.
    pub kind: AttemptKind,
    /// Time in microseconds since 1970.
    pub time_us: u64,
}

/// The use that a right password allows at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The password allows every operation.
    Usable {
        /// Seconds until the password expires; `None` if it does not.
        expires_in_s: Option<u64>,
        /// Whether the password expires soon, so that the user is warned.
        warn: bool,
    },
    /// The password allows nothing: the account is locked.
    Locked {
        /// Seconds until the lock ends by itself; `None` if it does not.
        unlocked_in_s: Option<u64>,
    },
    /// The password only allows changing it.
    MustChange,
    /// The password has expired and allows some more binds.
    Expired {
        /// Number of grace binds left; with 0 the password allows nothing.
        grace_left: u64,
    },
}

impl PasswordPolicy {
    /// Sets an attribute of the policy. A value that is no number or boolean counts as not set.
    pub fn set(&mut self, attribute: &str, value: &str) {
        let number = || value.parse::<u64>().unwrap_or(0);
        let truth = || value.eq_ignore_ascii_case("TRUE");
        match attribute {
            "pwdMinAge" => self.min_age_s = number(),
            "pwdMaxAge" => self.max_age_s = number(),
            "pwdInHistory" => self.in_history = number(),
            "pwdCheckQuality" => self.check_quality = number(),
            "pwdMinLength" => self.min_length = number(),
            "pwdMaxLength" => self.max_length = number(),
            "pwdExpireWarning" => self.expire_warning_s = number(),
            "pwdGraceAuthNLimit" => self.grace_limit = number(),
            "pwdGraceExpiry" => self.grace_expiry_s = number(),
            "pwdLockout" => self.lockout = truth(),
            "pwdLockoutDuration" => self.lockout_duration_s = number(),
            "pwdMaxFailure" => self.max_failure = number(),
            "pwdFailureCountInterval" => self.failure_interval_s = number(),
            "pwdMaxRecordedFailure" => self.max_recorded_failure = number(),
            "pwdMustChange" => self.must_change = truth(),
            "pwdAllowUserChange" => self.allow_user_change = truth(),
            "pwdSafeModify" => self.safe_modify = truth(),
            "pwdMinDelay" => self.min_delay_s = number(),
            "pwdMaxDelay" => self.max_delay_s = number(),
            "pwdMaxIdle" => self.max_idle_s = number(),
            "pwdDefaultHash" => self.hashing = value.parse().ok(),
            "pwdRehashOnBind" => self.rehash_on_bind = Some(truth()),
            other => self.quality.set(other, value),
        }
    }

    /// Returns the standing of a right password (§7.1 to §7.5).
    pub fn standing(&self, state: &AccountState, now_us: u64) -> Standing {
        let now_s = now_us / SECOND_US;
        let delayed_s = self.delayed_until_s(state, now_s);
        let delay_s = Some(delayed_s.saturating_sub(now_s)).filter(|it| *it > 0);
        match self.locked(state, now_s) {
            None if delay_s.is_none() => {}
            None => {
                let unlocked_in_s = delay_s;
                return Standing::Locked { unlocked_in_s };
            }
            Some(left_s) => {
                let unlocked_in_s = left_s.map(|it| it.max(delay_s.unwrap_or(0)));
                return Standing::Locked { unlocked_in_s };
            }
        }
        if self.must_change && state.reset {
            return Standing::MustChange;
        }
        let Some(end_s) = self.expires_s(state) else {
            return Standing::Usable {
                expires_in_s: None,
                warn: false,
            };
        };
        if now_s > end_s {
            let grace_left = self.grace_left(state, now_s - end_s);
            return Standing::Expired { grace_left };
        }
        let left_s = end_s - now_s;
        Standing::Usable {
            expires_in_s: Some(left_s),
            warn: self.expire_warning_s > 0 && left_s <= self.expire_warning_s,
        }
    }

    /// Returns `None` for an account that is not locked (§7.1), else the seconds until the lock
    /// ends, if it ends by itself.
    fn locked(&self, state: &AccountState, now_s: u64) -> Option<Option<u64>> {
        if state.locked == Some(Lock::ForGood) || state.end_s.is_some_and(|it| now_s >= it) {
            return Some(None);
        }
        if let Some(start_s) = state.start_s.filter(|it| now_s < *it) {
            return Some(Some(start_s - now_s));
        }
        let used_s = state.last_success_s.max(state.changed_s);
        if self.max_idle_s > 0
            && used_s.is_some_and(|it| now_s >= it.saturating_add(self.max_idle_s))
        {
            return Some(None);
        }
        match state.locked {
            Some(Lock::Since(since_s)) if self.lockout => {
                if self.lockout_duration_s == 0 {
                    return Some(None);
                }
                let end_s = since_s.saturating_add(self.lockout_duration_s);
                (now_s < end_s).then(|| Some(end_s - now_s))
            }
            _ => None,
        }
    }

    /// Returns the second from which a password is accepted again after the last failure (§7.7).
    ///
    /// The draft delays the response. An attacker would use more connections, all kept by the
    /// server; so passwords of the account are refused for that time instead, as in OpenLDAP.
    fn delayed_until_s(&self, state: &AccountState, now_s: u64) -> u64 {
        let Some(last_us) = state.failures_us.last().filter(|_| self.min_delay_s > 0) else {
            return 0;
        };
        let interval_s = match self.failure_interval_s {
            0 => u64::MAX,
            interval_s => interval_s,
        };
        let oldest_us = now_s.saturating_sub(interval_s).saturating_mul(SECOND_US);
        let counted = state.failures_us.iter().filter(|it| **it >= oldest_us);
        let failures = counted.count() as u64;
        (last_us / SECOND_US).saturating_add(self.delay_s(failures))
    }

    /// Returns the delay after `failures` failures: doubled with each up to pwdMaxDelay; without
    /// that setting it stays.
    fn delay_s(&self, failures: u64) -> u64 {
        let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        match failures {
            0 => 0,
            _ => {
                let most_s = self.max_delay_s.max(self.min_delay_s);
                self.min_delay_s.saturating_mul(factor).min(most_s)
            }
        }
    }

    /// Number of failures after which the delay is the longest.
    fn delaying_failures(&self) -> u64 {
        if self.min_delay_s == 0 {
            return 0;
        }
        let mut failures = 1;
        while self.delay_s(failures) < self.max_delay_s {
            failures += 1;
        }
        failures
    }

    /// Whether the account is closed to connections that authenticated earlier: it was locked by an
    /// administrator, has not begun, or has ended. Locks by failures do not count: otherwise any
    /// client could end the connections of any account.
    pub fn is_closed(&self, state: &AccountState, now_us: u64) -> bool {
        let now_s = now_us / SECOND_US;
        state.locked == Some(Lock::ForGood)
            || state.start_s.is_some_and(|it| now_s < it)
            || state.end_s.is_some_and(|it| now_s >= it)
    }

    /// Whether the password has expired (§7.4).
    pub fn has_expired(&self, state: &AccountState, now_us: u64) -> bool {
        self.expires_s(state)
            .is_some_and(|it| now_us / SECOND_US > it)
    }

    /// Second in which time alone next closes the account or, if `password` says that it counts,
    /// makes its password expire; `None` if neither is to come.
    pub fn next_end_s(&self, state: &AccountState, now_us: u64, password: bool) -> Option<u64> {
        let expiry_s = self.expires_s(state).filter(|_| password);
        let ends_s = [state.end_s, expiry_s.map(|it| it.saturating_add(1))];
        let to_come = ends_s.into_iter().flatten();
        to_come.filter(|it| *it > now_us / SECOND_US).min()
    }

    /// Last second in which the password is valid; `None` if it does not expire.
    fn expires_s(&self, state: &AccountState) -> Option<u64> {
        let changed_s = state.changed_s.filter(|_| self.max_age_s > 0)?;
        Some(changed_s.saturating_add(self.max_age_s))
    }

    /// Number of grace binds left (§7.4), `over_s` seconds after expiry.
    fn grace_left(&self, state: &AccountState, over_s: u64) -> u64 {
        if self.grace_expiry_s > 0 && over_s > self.grace_expiry_s {
            return 0;
        }
        let used = state.grace_uses_us.len() as u64;
        self.grace_limit.saturating_sub(used)
    }

    /// Seconds until the password may be changed again (§7.8); `None` if it may be changed now.
    pub fn too_young_s(&self, state: &AccountState, now_us: u64) -> Option<u64> {
        if self.must_change && state.reset {
            return None;
        }
        let free_s = state.changed_s?.saturating_add(self.min_age_s);
        free_s.checked_sub(now_us / SECOND_US).filter(|it| *it > 0)
    }

    /// Applies an attempt to the state (§8.1.2.1, §8.1.2.3.1, §8.1.3).
    pub fn note(&self, state: &mut AccountState, attempt: Attempt) {
        let time_us = attempt.time_us;
        match attempt.kind {
            AttemptKind::Failed => self.failed(state, time_us),
            AttemptKind::Succeeded => {
                state.failures_us.retain(|it| *it > time_us);
                let ended = |it: &Lock| match it {
                    Lock::Since(since_s) => *since_s <= time_us / SECOND_US,
                    Lock::ForGood => false,
                };
                if state.locked.as_ref().is_some_and(ended) {
                    state.locked = None;
                }
                self.succeeded(state, time_us / SECOND_US);
            }
            AttemptKind::Grace => insert(&mut state.grace_uses_us, time_us),
        }
    }

    /// Returns whether an attempt changes the stored state.
    pub fn matters(&self, state: &AccountState, attempt: Attempt) -> bool {
        let mut after = state.clone();
        self.note(&mut after, attempt);
        after != *state
    }

    fn failed(&self, state: &mut AccountState, time_us: u64) {
        let recorded = self.max_failure.max(self.max_recorded_failure);
        let recorded = recorded.max(self.delaying_failures());
        if recorded == 0 || state.failures_us.contains(&time_us) {
            return;
        }
        if self.failure_interval_s > 0 {
            let interval_us = self.failure_interval_s.saturating_mul(SECOND_US);
            let oldest_us = time_us.saturating_sub(interval_us);
            state.failures_us.retain(|it| *it > oldest_us);
        }
        insert(&mut state.failures_us, time_us);
        let count = state.failures_us.len() as u64;
        let excess = count.saturating_sub(recorded);
        state.failures_us.drain(..excess as usize);
        let time_s = time_us / SECOND_US;
        let locks = self.lockout && self.max_failure > 0 && count >= self.max_failure;
        if locks && self.locked(state, time_s).is_none() {
            state.locked = Some(Lock::Since(time_s));
        }
    }

    /// Records a success only if a setting needs it, and no more precisely than needed: otherwise
    /// every bind would be a write.
    fn succeeded(&self, state: &mut AccountState, time_s: u64) {
        if self.max_idle_s == 0 {
            return;
        }
        let coarse_s = (self.max_idle_s / IDLE_SHARE).min(IDLE_COARSE_S_MAX);
        let known = state.last_success_s;
        if known.is_none_or(|it| time_s > it.saturating_add(coarse_s)) {
            state.last_success_s = Some(time_s);
        }
    }
}

/// Inserts a time in order, unless it is there.
fn insert(times_us: &mut Vec<u64>, time_us: u64) {
    if let Err(at) = times_us.binary_search(&time_us) {
        times_us.insert(at, time_us);
    }
}
