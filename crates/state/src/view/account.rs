//! Entries as accounts: what the server itself knows of them, whoever asks.

use super::{Served, View};
use crate::account::Account;
use crate::stop::Stop;
use policy::Subject;
use store::EntryId;

impl View<'_> {
    /// Microseconds since 1970; 0 where no client is served.
    pub fn now_us(&self) -> u64 {
        self.served.map_or(0, Served::now_us)
    }

    /// The same view for the server itself, to find out whom a client means.
    pub fn of_server<'s>(&'s self, server: &'s Subject) -> View<'s> {
        View::new(self.snapshot, self.catalog, server)
    }

    /// Place in the order of all writes of the last one that is seen here.
    pub fn position(&self) -> Result<u64, Stop> {
        Ok(self.snapshot.position()?)
    }

    /// The former passwords of an entry, as they were stored (pwdHistory).
    pub fn former_passwords(&self, id: EntryId) -> Result<Vec<Vec<u8>>, Stop> {
        let (policing, schema) = (&self.catalog.policing, &self.catalog.schema);
        match self.snapshot.entry(id)? {
            Some(view) => Ok(policing.former_passwords(schema, &view)),
            None => Ok(Vec::new()),
        }
    }

    /// The account an entry is; `None` when no password policy is for it.
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
