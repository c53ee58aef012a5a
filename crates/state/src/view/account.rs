//! Entries as accounts: attributes that the server itself reads, regardless of access rules.

use super::plain::PlainView;
use crate::account::{self, Account};
use crate::stop::Stop;
use crate::write::Addition;
use policy::PasswordPolicy;
use schema::Name;
use store::EntryId;

impl PlainView<'_> {
    /// Log position of the last write in this snapshot.
    pub fn position(&self) -> Result<u64, Stop> {
        Ok(self.snapshot.position()?)
    }

    /// The former passwords of an entry (`pwdHistory`), as stored.
    pub fn former_passwords(&self, id: EntryId) -> Result<Vec<Vec<u8>>, Stop> {
        let (policing, schema) = (&self.catalog.policing, &self.catalog.schema);
        match self.snapshot.entry(id)? {
            Some(view) => Ok(policing.former_passwords(schema, &view)),
            None => Ok(Vec::new()),
        }
    }

    /// Values of the entry that people make passwords of: its uid, cn, sn, givenName, and what
    /// stands before the `@` of mail.
    pub fn names_in_passwords(&self, id: EntryId) -> Result<Vec<Vec<u8>>, Stop> {
        let schema = &self.catalog.schema;
        let Some(view) = self.snapshot.entry(id)? else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for attribute in ["uid", "cn", "sn", "givenName", "mail"] {
            let type_id = schema.attribute_type(attribute);
            let number = type_id.and_then(|it| account::number_of(schema, it));
            let stored = number.and_then(|it| view.attribute(it));
            for value in stored.into_iter().flat_map(|it| it.values()) {
                let name = value.split(|it| *it == b'@').next().unwrap_or_default();
                names.push(if attribute == "mail" { name } else { value }.to_vec());
            }
        }
        Ok(names)
    }

    /// The password policy of a new entry; `None` if none applies to it.
    pub fn policy_of_new(
        &self,
        name: &Name,
        addition: &Addition,
    ) -> Result<Option<PasswordPolicy>, Stop> {
        let (policing, schema) = (&self.catalog.policing, &self.catalog.schema);
        let mut attributes = addition.attributes.iter();
        let named = attributes.find(|it| it.description.type_id == policing.types.subentry);
        let named = named.and_then(|it| it.values.first().map(Vec::as_slice));
        Ok(policing.policy(self.snapshot, schema, named, name)?)
    }

    /// The entry as an account; `None` if no password policy applies to it.
    pub fn account(&self, id: EntryId) -> Result<Option<Account>, Stop> {
        let (policing, schema) = (&self.catalog.policing, &self.catalog.schema);
        if policing.is_idle(schema) {
            return Ok(None);
        }
        match self.snapshot.entry(id)? {
            Some(view) => Ok(policing.account(self.snapshot, schema, &view)?),
            None => Ok(None),
        }
    }
}
