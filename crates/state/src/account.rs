//! Entries as accounts: the password policy of an entry, and the account state it stores.
//!
//! A policy is an entry of the class `pwdPolicy`: the one named by the account's
//! `pwdPolicySubentry`, or else the one of the smallest subtree around the account for which
//! `cn=rules,cn=config` names one, or else the one that `cn=config` names for all. A policy is read
//! when needed, in the snapshot from which the account is read, so it is never out of date.

use crate::time;
use policy::{AccountState, Attempt, Lock, PasswordPolicy, Standing};
use schema::{AttributeNumber, Description, Name, Schema, TypeId};
use store::{EntryView, Lookup, Snapshot};

/// Object class of policies.
const POLICY_CLASS: &[u8] = b"pwdPolicy";
/// Its subclass, which policies may have instead from format level 3 on.
const HASHING_POLICY_CLASS: &[u8] = b"pwdHashingPolicy";
/// Names of the one attribute that policies apply to.
const PASSWORD_NAMES: [&str; 2] = ["userPassword", "2.5.4.35"];
/// Value of `pwdAccountLockedTime` for a lock that only an administrator ends (§5.3.3).
const FOR_GOOD: &str = "000001010000Z";

/// Attribute types of the account state.
#[derive(Debug, Clone)]
pub struct AccountTypes {
    /// `pwdPolicySubentry`: the policy of the entry.
    pub subentry: TypeId,
    /// `pwdChangedTime`.
    pub changed: TypeId,
    /// `pwdAccountLockedTime`.
    pub locked: TypeId,
    /// `pwdFailureTime`.
    pub failures: TypeId,
    /// `pwdGraceUseTime`.
    pub grace_uses: TypeId,
    /// `pwdReset`.
    pub reset: TypeId,
    /// `pwdLastSuccess`.
    pub last_success: TypeId,
    /// `pwdStartTime`.
    pub start: TypeId,
    /// `pwdEndTime`.
    pub end: TypeId,
    /// `pwdHistory`.
    pub history: TypeId,
}

/// Information for finding the policy of an entry.
#[derive(Debug, Clone)]
pub struct Policing {
    /// The attribute types that keep the state of accounts.
    pub types: AccountTypes,
    /// The policy of entries that name none.
    pub default: Option<Name>,
    /// `pwdMaxAge` of a policy: the seconds for which its passwords are valid.
    pub max_age: TypeId,
    /// Policies of subtrees, the deepest subtrees first.
    pub subtrees: Vec<PolicedSubtree>,
    /// Whether a subclass of `pwdPolicy` makes a policy as well.
    pub takes_subclass: bool,
}

/// A subtree whose entries have a policy unless they name another.
#[derive(Debug, Clone)]
pub struct PolicedSubtree {
    /// Name of the topmost entry.
    pub base: Name,
    /// Name of the policy.
    pub policy: Name,
}

/// An entry to which a policy applies, with its state.
#[derive(Debug, Clone)]
pub struct Account {
    /// The policy that holds for the account.
    pub policy: PasswordPolicy,
    /// The state that the entry keeps.
    pub state: AccountState,
}

impl Account {
    /// Applies recorded attempts that the stored state may not include.
    pub fn lay_over(&mut self, attempts: &[Attempt]) {
        for attempt in attempts {
            self.policy.note(&mut self.state, *attempt);
        }
    }

    /// Usability of the account after a right password, at a time in microseconds since 1970.
    pub fn standing(&self, now_us: u64) -> Standing {
        self.policy.standing(&self.state, now_us)
    }
}

impl Policing {
    /// Looks up the attribute types; `None` if the schema lacks one. No subtree has a policy yet.
    pub fn of(schema: &Schema, default: Option<Name>) -> Option<Policing> {
        let find = |name| schema.attribute_type(name);
        let types = AccountTypes {
            subentry: find("pwdPolicySubentry")?,
            changed: find("pwdChangedTime")?,
            locked: find("pwdAccountLockedTime")?,
            failures: find("pwdFailureTime")?,
            grace_uses: find("pwdGraceUseTime")?,
            reset: find("pwdReset")?,
            last_success: find("pwdLastSuccess")?,
            start: find("pwdStartTime")?,
            end: find("pwdEndTime")?,
            history: find("pwdHistory")?,
        };
        Some(Policing {
            types,
            default,
            max_age: find("pwdMaxAge")?,
            subtrees: Vec::new(),
            takes_subclass: false,
        })
    }

    /// Adds the policies of subtrees.
    pub fn with_subtrees(mut self, mut subtrees: Vec<PolicedSubtree>) -> Policing {
        subtrees.sort_by_key(|it| std::cmp::Reverse(it.base.depth()));
        self.subtrees = subtrees;
        self
    }

    /// The entry as an account; `None` if no policy applies to it.
    #[inline]
    pub fn account(
        &self,
        snapshot: &Snapshot<'_>,
        schema: &Schema,
        view: &EntryView<'_>,
    ) -> Result<Option<Account>, store::Error> {
        if self.is_idle(schema) {
            return Ok(None);
        }
        let values = |type_id| values_of(schema, view, type_id);
        let named = values(self.types.subentry).into_iter().next();
        // The name is needed only where subtrees have policies.
        let name = match named.is_none() && !self.subtrees.is_empty() {
            true => name_of(snapshot, schema, view)?,
            false => Name::root(),
        };
        let Some(policy) = self.policy(snapshot, schema, named, &name)? else {
            return Ok(None);
        };
        let state = self.types.state(&values);
        Ok(Some(Account { policy, state }))
    }

    /// Returns the former passwords of an entry; values without the form of §5.3.5 are skipped.
    pub fn former_passwords(&self, schema: &Schema, view: &EntryView<'_>) -> Vec<Vec<u8>> {
        let values = values_of(schema, view, self.types.history).into_iter();
        // The form is time "#" syntax "#" length "#" data.
        let data = |value: &[u8]| value.splitn(4, |it| *it == b'#').nth(3).map(<[u8]>::to_vec);
        values.filter_map(data).collect()
    }

    /// Returns whether no entry of this database has a policy.
    #[inline]
    pub fn is_idle(&self, schema: &Schema) -> bool {
        self.default.is_none()
            && self.subtrees.is_empty()
            && schema.numbers_of(self.types.subentry).is_empty()
    }

    /// The policy of the entry `name` with this `pwdPolicySubentry`; `None` if the value, or what
    /// is configured for the place of the entry, names no policy.
    pub fn policy(
        &self,
        snapshot: &Snapshot<'_>,
        schema: &Schema,
        named: Option<&[u8]>,
        name: &Name,
    ) -> Result<Option<PasswordPolicy>, store::Error> {
        if let Some(named) = named {
            let name = std::str::from_utf8(named).ok();
            let name = name.and_then(|it| schema.resolve_name(it).ok());
            return name.map_or(Ok(None), |it| self.policy_at(snapshot, schema, &it));
        }
        let subtree = self.subtrees.iter().find(|it| name.is_within(&it.base));
        match subtree.map(|it| &it.policy).or(self.default.as_ref()) {
            Some(policy) => self.policy_at(snapshot, schema, policy),
            None => Ok(None),
        }
    }

    fn policy_at(
        &self,
        snapshot: &Snapshot<'_>,
        schema: &Schema,
        name: &Name,
    ) -> Result<Option<PasswordPolicy>, store::Error> {
        let Lookup::Found(id) = snapshot.find(name)? else {
            return Ok(None);
        };
        let Some(view) = snapshot.entry(id)? else {
            return Ok(None);
        };
        let mut policy = PasswordPolicy::default();
        let (mut is_policy, mut is_ours) = (false, false);
        for stored in view.attributes() {
            let Some(known) = schema.known(stored.number) else {
                continue;
            };
            let name = schema.type_of(known.type_id).name();
            for value in stored.values() {
                let text = String::from_utf8_lossy(value);
                match name {
                    "objectClass" => is_policy |= self.is_policy_class(value),
                    "pwdAttribute" => {
                        is_ours |= PASSWORD_NAMES
                            .iter()
                            .any(|it| it.eq_ignore_ascii_case(&text));
                    }
                    setting => policy.set(setting, &text),
                }
            }
        }
        Ok((is_policy && is_ours).then_some(policy))
    }

    fn is_policy_class(&self, class: &[u8]) -> bool {
        class.eq_ignore_ascii_case(POLICY_CLASS)
            || self.takes_subclass && class.eq_ignore_ascii_case(HASHING_POLICY_CLASS)
    }
}

impl AccountTypes {
    /// The account state in the values of an entry.
    pub fn state<'v>(&self, values: &dyn Fn(TypeId) -> Vec<&'v [u8]>) -> AccountState {
        let first = |type_id| values(type_id).into_iter().next();
        let second = |type_id| first(type_id).and_then(seconds_of);
        let moments = |type_id| {
            let values = values(type_id).into_iter();
            let mut moments: Vec<u64> = values.filter_map(time::micros_of).collect();
            moments.sort_unstable();
            moments
        };
        AccountState {
            changed_s: second(self.changed),
            locked: first(self.locked).map(lock_of),
            failures_us: moments(self.failures),
            grace_uses_us: moments(self.grace_uses),
            reset: first(self.reset).is_some_and(|it| it.eq_ignore_ascii_case(b"TRUE")),
            last_success_s: second(self.last_success),
            // An unreadable time locks the account.
            start_s: first(self.start).map(|it| seconds_of(it).unwrap_or(u64::MAX)),
            end_s: first(self.end).map(|it| seconds_of(it).unwrap_or(0)),
        }
    }
}

/// The attributes of a state, each with all its values.
pub fn values_of_state(types: &AccountTypes, state: &AccountState) -> [Stated; 6] {
    let second = |it: Option<u64>| -> Vec<Vec<u8>> {
        let texts = it.map(|it| time::generalized_time(it.saturating_mul(1_000_000)));
        texts.into_iter().map(String::into_bytes).collect()
    };
    let moments = |it: &[u64]| -> Vec<Vec<u8>> {
        let texts = it.iter().map(|it| time::exact_time(*it));
        texts.map(String::into_bytes).collect()
    };
    let locked = match state.locked {
        None => Vec::new(),
        Some(Lock::ForGood) => vec![FOR_GOOD.as_bytes().to_vec()],
        Some(Lock::Since(since_s)) => second(Some(since_s)),
    };
    let reset = match state.reset {
        true => vec![b"TRUE".to_vec()],
        false => Vec::new(),
    };
    [
        (types.changed, second(state.changed_s)),
        (types.locked, locked),
        (types.failures, moments(&state.failures_us)),
        (types.grace_uses, moments(&state.grace_uses_us)),
        (types.reset, reset),
        (types.last_success, second(state.last_success_s)),
    ]
}

/// An attribute of a state with its values.
pub type Stated = (TypeId, Vec<Vec<u8>>);

/// The name of a stored entry. One that cannot be resolved is in no subtree.
fn name_of(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    view: &EntryView<'_>,
) -> Result<Name, store::Error> {
    let mut spelled = Vec::new();
    snapshot.write_name(view, &mut spelled)?;
    let name = std::str::from_utf8(&spelled).ok();
    let name = name.and_then(|it| schema.resolve_name(it).ok());
    Ok(name.unwrap_or_else(Name::root))
}

/// The number of a type without options; `None` before its first use in this database.
pub fn number_of(schema: &Schema, type_id: TypeId) -> Option<AttributeNumber> {
    schema.number(&Description::of_type(type_id))
}

fn values_of<'v>(schema: &Schema, view: &EntryView<'v>, type_id: TypeId) -> Vec<&'v [u8]> {
    let number = number_of(schema, type_id);
    let attribute = number.and_then(|it| view.attribute(it));
    attribute.map_or_else(Vec::new, |it| it.values().into_iter().collect())
}

/// The year 0 is before 1970 and means a lock without end, as does a value that cannot be read.
fn lock_of(value: &[u8]) -> Lock {
    seconds_of(value).map_or(Lock::ForGood, Lock::Since)
}

fn seconds_of(value: &[u8]) -> Option<u64> {
    time::micros_of(value).map(|it| it / 1_000_000)
}
