//! Persistent search and its entry change notifications (draft-ietf-ldapext-psearch-03).

use super::sequence_of;
use crate::ber::{
    BOOLEAN, ENUMERATED, INTEGER, OCTET_STRING, SEQUENCE, put_boolean, put_integer, put_nested,
    put_octets,
};
use crate::error::{Component, DecodeError};

/// `PersistentSearch`: continues the search with changed entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersistentSearch {
    /// Which changes, as a sum of the numbers of [`ChangeType`]: 1 to 15.
    pub change_types: u8,
    /// Whether the present entries are left out.
    pub changes_only: bool,
    /// Send an [`EntryChangeNotification`] with each changed entry.
    pub return_entry_changes: bool,
}

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// The entry was added.
    Add = 1,
    /// The entry was deleted.
    Delete = 2,
    /// Attributes of the entry were changed.
    Modify = 4,
    /// The entry was renamed.
    ModifyDn = 8,
}

/// `EntryChangeNotification`: the change for which an entry is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryChangeNotification<'a> {
    /// Kind of the change.
    pub change_type: ChangeType,
    /// The name before a rename.
    pub previous_dn: Option<&'a str>,
    /// Number of the change in the server's log, if it has one.
    pub change_number: Option<i64>,
}

impl PersistentSearch {
    /// Decodes the control's value.
    pub fn decode(value: &[u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let number = parts.integer(INTEGER)?;
        let change_types = match u8::try_from(number) {
            Ok(types @ 1..=15) => types,
            _ => {
                return Err(DecodeError::out_of_range(Component::ChangeTypes, number));
            }
        };
        let changes_only = parts.boolean(BOOLEAN)?;
        let return_entry_changes = parts.boolean(BOOLEAN)?;
        parts.finish_extensible()?;
        Ok(PersistentSearch {
            change_types,
            changes_only,
            return_entry_changes,
        })
    }

    /// Whether the client asks for changes of this kind.
    pub const fn wants(&self, change_type: ChangeType) -> bool {
        self.change_types & change_type as u8 != 0
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, INTEGER, i64::from(self.change_types));
            put_boolean(out, BOOLEAN, self.changes_only);
            put_boolean(out, BOOLEAN, self.return_entry_changes);
        });
    }
}

impl<'a> EntryChangeNotification<'a> {
    /// Decodes the control's value.
    pub fn decode(value: &'a [u8]) -> Result<Self, DecodeError> {
        let mut parts = sequence_of(value)?;
        let change_type = match parts.integer(ENUMERATED)? {
            1 => ChangeType::Add,
            2 => ChangeType::Delete,
            4 => ChangeType::Modify,
            8 => ChangeType::ModifyDn,
            value => {
                return Err(DecodeError::out_of_range(Component::ChangeType, value));
            }
        };
        let previous_dn = parts.optional_text(OCTET_STRING)?;
        let change_number = match parts.peek_tag() {
            Some(INTEGER) => Some(parts.integer(INTEGER)?),
            _ => None,
        };
        parts.finish_extensible()?;
        Ok(EntryChangeNotification {
            change_type,
            previous_dn,
            change_number,
        })
    }

    /// Appends the control's value.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_nested(out, SEQUENCE, |out| {
            put_integer(out, ENUMERATED, self.change_type as i64);
            if let Some(name) = self.previous_dn {
                put_octets(out, OCTET_STRING, name.as_bytes());
            }
            if let Some(number) = self.change_number {
                put_integer(out, INTEGER, number);
            }
        });
    }
}
