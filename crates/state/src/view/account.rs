//! Entries as accounts: attributes that the server itself reads, regardless of access rules.

use super::{Served, View};
use crate::account::Account;
use crate::stop::Stop;
use policy::Subject;
use store::EntryId;

impl View<'_> {
    /// Microseconds since 1970; 0 if no client is served.
    pub fn now_us(&self) -> u64 {
        self.served.map_or(0, Served::now_us)
    }

    /// The view of the server itself on the same snapshot, for finding the entry that a client
    /// names.
    pub fn of_server<'s>(&'s self, server: &'s Subject) -> View<'s> {
        View::new(self.snapshot, self.catalog, server)
    }

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
