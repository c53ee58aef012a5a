//! The state of accounts among the attributes: who knows the failures of an account knows how many
//! guesses are left, and who knows its lock knows when to go on guessing.

use schema::{Schema, TypeId};

/// Attributes with the state of an account that only the administrator sees: those of password
/// policies, of Kerberos, of Samba and of 389 Directory Server.
const HIDDEN: [&str; 15] = [
    "pwdAccountLockedTime",
    "pwdFailureTime",
    "pwdGraceUseTime",
    "pwdLastSuccess",
    "krbLastAdminUnlock",
    "krbLoginFailedCount",
    "krbLastFailedAuth",
    "krbLastSuccessfulAuth",
    "sambaBadPasswordCount",
    "sambaBadPasswordTime",
    "accountUnlockTime",
    "passwordRetryCount",
    "retryCountResetTime",
    "lastLoginTime",
    "authTimestamp",
];

/// Attributes that the owner of the account sees, too: how long the password and the account are
/// valid.
const OF_OWNER: [&str; 5] = [
    "pwdChangedTime",
    "pwdReset",
    "pwdPolicySubentry",
    "pwdStartTime",
    "pwdEndTime",
];

/// The attribute types with the state of accounts in one schema.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// All of them, ascending.
    all: Vec<TypeId>,
    /// The attribute types that the owner sees, ascending.
    of_owner: Vec<TypeId>,
}

impl Accounts {
    pub(super) fn of(schema: &Schema) -> Accounts {
        let find = |names: &[&str]| -> Vec<TypeId> {
            let roots = names.iter().filter_map(|it| schema.attribute_type(it));
            let roots: Vec<TypeId> = roots.collect();
            let all = schema.attribute_types().map(|(id, _)| id);
            let mut found: Vec<TypeId> = all
                .filter(|id| roots.iter().any(|it| schema.is_subtype(*id, *it)))
                .collect();
            found.sort();
            found
        };
        let of_owner = find(&OF_OWNER);
        let mut all = find(&HIDDEN);
        all.extend(&of_owner);
        all.sort();
        Accounts { all, of_owner }
    }

    /// All types, ascending.
    pub fn types(&self) -> &[TypeId] {
        &self.all
    }

    /// The types that the owner of an account sees, ascending.
    pub fn shown_to_owner(&self) -> &[TypeId] {
        &self.of_owner
    }

    pub(super) fn contains(&self, type_id: TypeId) -> bool {
        self.all.binary_search(&type_id).is_ok()
    }

    pub(super) fn shows_to_owner(&self, type_id: TypeId) -> bool {
        self.of_owner.binary_search(&type_id).is_ok()
    }
}
