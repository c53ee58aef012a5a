//! The effect of each setting on a state.

use super::*;

const S: u64 = SECOND_US;

fn attempt(kind: AttemptKind, time_us: u64) -> Attempt {
    Attempt { kind, time_us }
}

fn failing(policy: &PasswordPolicy, state: &mut AccountState, times_s: &[u64]) {
    for time_s in times_s {
        policy.note(state, attempt(AttemptKind::Failed, time_s * S));
    }
}

fn usable(expires_in_s: Option<u64>, warn: bool) -> Standing {
    Standing::Usable { expires_in_s, warn }
}

fn lockout() -> PasswordPolicy {
    PasswordPolicy {
        lockout: true,
        max_failure: 3,
        lockout_duration_s: 60,
        ..PasswordPolicy::default()
    }
}

#[test]
fn failures_lock_and_the_lock_ends() {
    let (policy, mut state) = (lockout(), AccountState::default());
    failing(&policy, &mut state, &[10, 11]);
    assert_eq!(policy.standing(&state, 12 * S), usable(None, false));
    failing(&policy, &mut state, &[12]);
    let unlocked_in_s = Some(60);
    assert_eq!(
        policy.standing(&state, 12 * S),
        Standing::Locked { unlocked_in_s }
    );
    assert_eq!(policy.standing(&state, 72 * S), usable(None, false));
    policy.note(&mut state, attempt(AttemptKind::Succeeded, 80 * S));
    assert_eq!(state, AccountState::default());
}

#[test]
fn failures_that_are_old_do_not_count() {
    let mut policy = lockout();
    policy.failure_interval_s = 10;
    let mut state = AccountState::default();
    failing(&policy, &mut state, &[10, 11, 21]);
    assert_eq!(state.failures_us, [21 * S]);
    assert_eq!(state.locked, None);
}

#[test]
fn without_a_limit_nothing_is_recorded() {
    let (policy, mut state) = (PasswordPolicy::default(), AccountState::default());
    failing(&policy, &mut state, &[1, 2, 3]);
    assert_eq!(state, AccountState::default());
    let failed = attempt(AttemptKind::Failed, S);
    assert!(!policy.matters(&state, failed));
    assert!(lockout().matters(&state, failed));
    assert!(!lockout().matters(&state, attempt(AttemptKind::Succeeded, S)));
}

#[test]
fn delays_double_up_to_the_most() {
    let mut policy = PasswordPolicy {
        min_delay_s: 2,
        max_delay_s: 7,
        ..PasswordPolicy::default()
    };
    let mut state = AccountState::default();
    let locked = |policy: &PasswordPolicy, state: &AccountState, now_s: u64| match policy
        .standing(state, now_s * S)
    {
        Standing::Locked { unlocked_in_s } => unlocked_in_s,
        _ => None,
    };
    assert_eq!(locked(&policy, &state, 10), None);
    let mut now_s = 10;
    for delay_s in [2, 4, 7, 7, 7] {
        failing(&policy, &mut state, &[now_s]);
        assert_eq!(locked(&policy, &state, now_s), Some(delay_s));
        assert_eq!(locked(&policy, &state, now_s + delay_s - 1), Some(1));
        now_s += delay_s;
        assert_eq!(locked(&policy, &state, now_s), None, "{now_s}");
    }
    assert_eq!(state.failures_us.len(), 3, "as many as the delay needs");
    // Failures that no longer count do not lengthen the delay.
    policy.failure_interval_s = 100;
    failing(&policy, &mut state, &[now_s + 200]);
    assert_eq!(locked(&policy, &state, now_s + 200), Some(2));
    policy.note(
        &mut state,
        attempt(AttemptKind::Succeeded, (now_s + 300) * S),
    );
    assert_eq!(state, AccountState::default());
    // The delay's failures do not keep other failures from locking for longer.
    let locking = PasswordPolicy {
        min_delay_s: 2,
        ..lockout()
    };
    failing(&locking, &mut state, &[300, 302, 304]);
    assert_eq!(locked(&locking, &state, 304), Some(60));
    state = AccountState::default();
    // Without pwdMaxDelay the delay stays.
    policy.max_delay_s = 0;
    failing(&policy, &mut state, &[400, 500]);
    assert_eq!(locked(&policy, &state, 500), Some(2));
}

#[test]
fn what_is_known_changes_nothing() {
    let (policy, mut state) = (lockout(), AccountState::default());
    let all = [
        attempt(AttemptKind::Failed, 5 * S),
        attempt(AttemptKind::Succeeded, 6 * S),
        attempt(AttemptKind::Failed, 7 * S),
        attempt(AttemptKind::Grace, 8 * S),
    ];
    all.iter().for_each(|it| policy.note(&mut state, *it));
    let once = state.clone();
    all.iter().for_each(|it| policy.note(&mut state, *it));
    assert_eq!(state, once);
    assert_eq!(state.failures_us, [7 * S]);
}

#[test]
fn passwords_expire_with_warning_and_grace() {
    let policy = PasswordPolicy {
        max_age_s: 100,
        expire_warning_s: 20,
        grace_limit: 2,
        grace_expiry_s: 50,
        ..PasswordPolicy::default()
    };
    let mut state = AccountState {
        changed_s: Some(1_000),
        ..AccountState::default()
    };
    assert_eq!(policy.standing(&state, 1_000 * S), usable(Some(100), false));
    assert_eq!(policy.standing(&state, 1_080 * S), usable(Some(20), true));
    assert_eq!(policy.standing(&state, 1_100 * S), usable(Some(0), true));
    let expired = |grace_left| Standing::Expired { grace_left };
    assert_eq!(policy.standing(&state, 1_101 * S), expired(2));
    policy.note(&mut state, attempt(AttemptKind::Grace, 1_101 * S));
    assert_eq!(policy.standing(&state, 1_102 * S), expired(1));
    assert_eq!(policy.standing(&state, 1_151 * S), expired(0));
    state.changed_s = None;
    assert_eq!(policy.standing(&state, 9_000 * S), usable(None, false));
}

#[test]
fn a_reset_password_must_be_changed_and_may_be_at_once() {
    let policy = PasswordPolicy {
        must_change: true,
        min_age_s: 100,
        ..PasswordPolicy::default()
    };
    let mut state = AccountState {
        changed_s: Some(1_000),
        reset: true,
        ..AccountState::default()
    };
    assert_eq!(policy.standing(&state, 1_001 * S), Standing::MustChange);
    assert_eq!(policy.too_young_s(&state, 1_001 * S), None);
    state.reset = false;
    assert_eq!(policy.too_young_s(&state, 1_001 * S), Some(99));
    assert_eq!(policy.too_young_s(&state, 1_100 * S), None);
}

#[test]
fn accounts_are_locked_by_hand_by_time_and_by_idleness() {
    let policy = PasswordPolicy {
        max_idle_s: 1_000,
        ..PasswordPolicy::default()
    };
    let locked = |state: &AccountState, now_s: u64| match policy.standing(state, now_s * S) {
        Standing::Locked { unlocked_in_s } => Some(unlocked_in_s),
        _ => None,
    };
    let mut state = AccountState {
        start_s: Some(50),
        end_s: Some(5_000),
        ..AccountState::default()
    };
    assert_eq!(locked(&state, 40), Some(Some(10)));
    assert_eq!(locked(&state, 50), None);
    assert_eq!(locked(&state, 5_000), Some(None));
    state.last_success_s = Some(100);
    assert_eq!(locked(&state, 1_099), None);
    assert_eq!(locked(&state, 1_100), Some(None));
    // The time is stored with a hundredth of the idle time as precision.
    policy.note(&mut state, attempt(AttemptKind::Succeeded, 110 * S));
    assert_eq!(state.last_success_s, Some(100));
    policy.note(&mut state, attempt(AttemptKind::Succeeded, 111 * S));
    assert_eq!(state.last_success_s, Some(111));
    state.locked = Some(Lock::ForGood);
    assert_eq!(locked(&state, 111), Some(None));
}
