//! Account state in execution (draft-behera-ldap-password-policy): password attempts, and effects
//! of a password change. Times come from the record.

use super::Execution;
use super::draft::Draft;
use crate::account::{self, Account};
use crate::stop::Stop;
use crate::time;
use crate::write::Write;
use crate::{level, passwords};
use audit::Operation;
use policy::password;
use policy::rehash::Rehashed;
use policy::{AccountState, Attempt, Lock, PasswordPolicy};
use protocol::ResultCode;
use schema::{AttributeNumber, Description, TypeId};
use std::borrow::Cow;
use store::{EntryId, EntryView};

/// Syntax in which pwdHistory stores former values: octet strings.
const HISTORY_SYNTAX: &str = "1.3.6.1.4.1.1466.115.121.1.40";

/// Numbers of the attributes of an account state.
pub(super) type Numbers = Vec<(TypeId, AttributeNumber)>;

impl Execution<'_, '_> {
    /// Records password attempts in an entry. Its modifiersName and modifyTimestamp stay, because
    /// no user has changed it.
    pub(super) fn note_attempts(
        &mut self,
        write: &Write,
        attempts: &[Attempt],
    ) -> Result<(), Stop> {
        let id = self.locate(write)?;
        let numbers = self.account_numbers()?;
        let (edits, audited);
        let bytes = {
            let snapshot = self.batch.snapshot();
            let Some(view) = snapshot.entry(id)? else {
                return Err(super::missing_row(id));
            };
            let policing = &self.catalog.policing;
            let account = policing.account(&snapshot, &self.schema, &view)?;
            let Some(Account { policy, state }) = account else {
                return nothing_to_note();
            };
            let mut after = state.clone();
            attempts.iter().for_each(|it| policy.note(&mut after, *it));
            if after == state {
                return nothing_to_note();
            }
            let mut draft = Draft::whole(id, &view, &snapshot, &self.schema)?;
            self.put_state(&mut draft, &after, &numbers);
            draft.drop_empty();
            let csn = self.change_sequence_number();
            let known = &self.catalog.known;
            draft.stamp(&self.schema, known.entry_csn.number, csn.into_bytes());
            let bytes = draft.encode(&self.schema, self.position);
            audited = self.drafted(id, &view, &draft, &bytes)?;
            edits = draft.links;
            bytes
        };
        self.batch.update(id, &bytes)?;
        self.store_links(id, edits)?;
        self.audit(Operation::Modify, id, &audited)?;
        self.history.modified(id);
        Ok(())
    }

    /// Stamps a modified entry, after the effects that a change of password or lock has on its
    /// account. Returns the change of a password that only has another form.
    pub(super) fn stamp_modified(
        &self,
        write: &Write,
        id: EntryId,
        before: &EntryView<'_>,
        draft: &mut Draft<'_>,
        changed: &[AttributeNumber],
        numbers: &Option<Numbers>,
    ) -> Result<Option<Rehashed>, Stop> {
        if write.has(|it| it.rehashes) {
            return Ok(Some(self.rehashed(id, before, draft)));
        }
        self.follow_change(write, Some(before), draft, changed, numbers.as_ref())?;
        self.stamp(draft, write.by(), changed);
        Ok(None)
    }

    /// Stamps an entry of which a password has another form. Its modifiersName and modifyTimestamp
    /// stay, because no user has changed it.
    fn rehashed(&self, id: EntryId, before: &EntryView<'_>, draft: &mut Draft<'_>) -> Rehashed {
        let csn = self.change_sequence_number();
        let known = &self.catalog.known;
        draft.stamp(&self.schema, known.entry_csn.number, csn.into_bytes());
        let number = known.user_password.number;
        let had = before.attribute(number);
        let had: Vec<u64> = had.map_or_else(Vec::new, |it| {
            it.values().into_iter().map(passwords::digest_of).collect()
        });
        let has = draft.find(number);
        let has: Vec<u64> = has.map_or_else(Vec::new, |it| {
            it.values.iter().map(passwords::digest_of).collect()
        });
        let only = |of: &[u64], other: &[u64]| {
            let only = of.iter().find(|it| !other.contains(it));
            only.copied().unwrap_or(0)
        };
        Rehashed {
            entry: id.0,
            before: passwords::sum_of(&had),
            after: passwords::sum_of(&has),
            old: only(&had, &has),
            new: only(&has, &had),
        }
    }

    /// Returns the numbers of the account state's attributes if a change of these attributes
    /// concerns an account, else `None`.
    pub(super) fn account_concerned(
        &mut self,
        write: &Write,
        changed: &[AttributeNumber],
    ) -> Result<Option<Numbers>, Stop> {
        let policing = &self.catalog.policing;
        if policing.is_idle(&self.schema) || write.has(|it| it.rehashes) {
            return Ok(None);
        }
        let password = self.catalog.known.user_password.number;
        let lock = account::number_of(&self.schema, policing.types.locked);
        if !changed.contains(&password) && !lock.is_some_and(|it| changed.contains(&it)) {
            return Ok(None);
        }
        self.account_numbers().map(Some)
    }

    /// Updates the account state after a change of password or lock (§8.2.7). State attributes in
    /// the change itself are kept as given. Does nothing without `numbers`.
    pub(super) fn follow_change(
        &self,
        write: &Write,
        before: Option<&EntryView<'_>>,
        draft: &mut Draft<'_>,
        changed: &[AttributeNumber],
        numbers: Option<&Numbers>,
    ) -> Result<(), Stop> {
        self.refuse_many_passwords(write, before, draft)?;
        let Some(numbers) = numbers else {
            return Ok(());
        };
        let (policing, known) = (&self.catalog.policing, &self.catalog.known);
        let (policy, given) = {
            let values = |type_id| values_in(draft, numbers, type_id);
            let named = account::number_of(&self.schema, policing.types.subentry);
            let named = named.and_then(|it| draft.find(it)?.values.iter().next());
            let snapshot = self.batch.snapshot();
            let policy = policing.policy(&snapshot, &self.schema, named, write.name())?;
            (policy, policing.types.state(&values))
        };
        let Some(policy) = policy else {
            return Ok(());
        };
        let types = &policing.types;
        let is_given =
            |type_id| number_in(numbers, type_id).is_some_and(|it| changed.contains(&it));
        // The write copies an entry of another server, which has updated the state and sends it.
        let told = [types.changed, types.history, types.failures, types.reset];
        if write.has(|options| options.relaxed) && told.into_iter().any(is_given) {
            return Ok(());
        }
        let has_password = draft.find(known.user_password.number).is_some();
        let mut state = given.clone();
        if changed.contains(&known.user_password.number) {
            if self.is_new_password(write, before, draft)? || !has_password {
                self.password_changed(write, &policy, &mut state, has_password);
            }
            if let Some(view) = before {
                self.keep_former(view, &policy, draft, numbers);
            }
        } else if state.locked.is_none() {
            // An administrator unlocked the account: the recorded failures must not lock it again.
            state.failures_us.clear();
        }
        if is_given(types.changed) {
            state.changed_s = given.changed_s;
        }
        if is_given(types.locked) {
            state.locked = given.locked;
        }
        if is_given(types.reset) {
            state.reset = given.reset;
        }
        if is_given(types.failures) {
            state.failures_us = given.failures_us;
        }
        if is_given(types.grace_uses) {
            state.grace_uses_us = given.grace_uses_us;
        }
        if is_given(types.last_success) {
            state.last_success_s = given.last_success_s;
        }
        self.put_state(draft, &state, numbers);
        draft.drop_empty();
        Ok(())
    }

    /// Refuses more values of userPassword, options included, than an entry may have. A change that
    /// only removes values is allowed.
    fn refuse_many_passwords(
        &self,
        write: &Write,
        before: Option<&EntryView<'_>>,
        draft: &Draft<'_>,
    ) -> Result<(), Stop> {
        if !write.has(|it| it.counts_passwords) {
            return Ok(());
        }
        let password_type = self.catalog.known.user_password.type_id;
        let count = |draft: &Draft<'_>| -> usize {
            let all = draft.attributes.iter();
            let passwords = all.filter(|it| it.type_id == password_type);
            passwords.map(|it| it.values.iter().count()).sum()
        };
        let now = count(draft);
        let had = before.map_or(0, |view| count(&Draft::of(view, &self.schema)));
        match now > had {
            true => passwords::refuse_many(now),
            false => Ok(()),
        }
    }

    /// Returns whether a change of userPassword adds a value that was not stored; removing values
    /// does not renew the age of the remaining ones. Refuses a second value beside a new one,
    /// because age, history and the duty to change apply to one password (§8.2).
    fn is_new_password(
        &self,
        write: &Write,
        before: Option<&EntryView<'_>>,
        draft: &Draft<'_>,
    ) -> Result<bool, Stop> {
        if !write.has(|it| it.counts_passwords) {
            return Ok(true);
        }
        let number = self.catalog.known.user_password.number;
        let values = draft.find(number).map(|it| &it.values);
        let values: Vec<&[u8]> = values.map_or_else(Vec::new, |it| it.iter().collect());
        let had = before.and_then(|it| it.attribute(number));
        let had =
            |value: &[u8]| had.is_some_and(|it| it.values().into_iter().any(|it| it == value));
        let is_new = values.iter().any(|value| !had(value));
        if is_new && values.len() > 1 && !self.is_pair(&values, had) {
            let count = values.len();
            let text = format!("userPassword: expected one value under a policy, got {count}");
            return Stop::refuse(ResultCode::CONSTRAINT_VIOLATION, text);
        }
        Ok(is_new)
    }

    /// Whether two values, both new, are those of one password: its hash, and keys of SCRAM.
    fn is_pair(&self, values: &[&[u8]], had: impl Fn(&[u8]) -> bool) -> bool {
        let [one, other] = values else {
            return false;
        };
        self.catalog.level >= level::KEEPS_VERIFIERS
            && password::is_verifier(one) != password::is_verifier(other)
            && !had(one)
            && !had(other)
    }

    fn password_changed(
        &self,
        write: &Write,
        policy: &PasswordPolicy,
        state: &mut AccountState,
        has_password: bool,
    ) {
        let by = self.schema.resolve_name(write.by());
        let by_owner = by.is_ok_and(|it| it == *write.name());
        state.changed_s = has_password.then_some(self.time_us / 1_000_000);
        state.reset = policy.must_change && !by_owner && has_password;
        if !by_owner || state.locked != Some(Lock::ForGood) {
            state.locked = None;
        }
        state.failures_us.clear();
        state.grace_uses_us.clear();
        state.last_success_s = None;
    }

    /// Adds the former password to pwdHistory, and removes the oldest ones beyond the limit.
    fn keep_former(
        &self,
        before: &EntryView<'_>,
        policy: &PasswordPolicy,
        draft: &mut Draft<'_>,
        numbers: &Numbers,
    ) {
        let Some(history) = number_in(numbers, self.catalog.policing.types.history) else {
            return;
        };
        let former = before.attribute(self.catalog.known.user_password.number);
        let Some(former) = former.filter(|_| policy.in_history > 0) else {
            return;
        };
        // The time has microseconds, because a password may change several times within a second.
        let time = time::exact_time(self.time_us);
        let kept = draft.values_mut(&self.schema, history);
        let verifies = |it: &&[u8]| password::is_verifier(it);
        // Keys of SCRAM beside a hash are those of one password, which counts once.
        let has_hash = self.catalog.level >= level::KEEPS_VERIFIERS
            && former.values().into_iter().any(|it| !verifies(&it));
        let values = former.values().into_iter();
        for value in values.filter(|it| !(has_hash && verifies(it))) {
            let head = format!("{time}#{HISTORY_SYNTAX}#{}#", value.len());
            kept.push(Cow::Owned([head.as_bytes(), value].concat()));
        }
        // Each value begins with its time.
        kept.sort();
        let most = usize::try_from(policy.in_history).unwrap_or(usize::MAX);
        let excess = kept.len().saturating_sub(most);
        kept.drain(..excess);
    }

    fn put_state(&self, draft: &mut Draft<'_>, state: &AccountState, numbers: &Numbers) {
        let types = &self.catalog.policing.types;
        for (type_id, values) in account::values_of_state(types, state) {
            if let Some(number) = number_in(numbers, type_id) {
                let place = draft.values_mut(&self.schema, number);
                place.clear();
                place.extend(values.into_iter().map(Cow::Owned));
            }
        }
    }

    /// Returns the numbers of the account state's attributes, assigned at their first use.
    pub(super) fn account_numbers(&mut self) -> Result<Numbers, Stop> {
        let types = &self.catalog.policing.types;
        let all = [
            types.changed,
            types.locked,
            types.failures,
            types.grace_uses,
            types.reset,
            types.last_success,
            types.history,
        ];
        let mut numbers = Vec::with_capacity(all.len());
        for type_id in all {
            let number = self.number(&Description::of_type(type_id))?;
            numbers.push((type_id, number));
        }
        Ok(numbers)
    }
}

fn number_in(numbers: &Numbers, type_id: TypeId) -> Option<AttributeNumber> {
    let found = numbers.iter().find(|(it, _)| *it == type_id);
    found.map(|(_, number)| *number)
}

fn values_in<'d>(draft: &'d Draft<'_>, numbers: &Numbers, type_id: TypeId) -> Vec<&'d [u8]> {
    let attribute = number_in(numbers, type_id).and_then(|it| draft.find(it));
    attribute.map_or_else(Vec::new, |it| it.values.iter().collect())
}

fn nothing_to_note<T>() -> Result<T, Stop> {
    let text = "nothing of the account changes";
    Stop::refuse(ResultCode::NO_SUCH_ATTRIBUTE, text)
}
