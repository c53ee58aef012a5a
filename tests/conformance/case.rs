//! The workspace of a clause: its own subtree, the administrator's connection, and short forms of
//! requests.

use std::time::Instant;

use protocol::{OwnedControl, ResultCode, Scope};

use crate::clause::Clause;
use crate::session::Session;
use crate::site::{CLAUSE_PATIENCE, Site, unit};
use crate::{Entry, Finding, Found, Modification, Outcome};

/// A filter that matches every entry.
pub const EVERYTHING: &str = "(objectClass=*)";

/// A running clause.
pub struct Case<'a> {
    /// The server under test.
    pub site: &'a Site,
    id: &'a str,
    deadline: Instant,
    admin: Option<Session>,
    home: Option<String>,
}

impl<'a> Case<'a> {
    /// Begins a clause; its time limit runs from now.
    pub fn new(site: &'a Site, clause: &'a Clause) -> Self {
        Case {
            site,
            id: &clause.id,
            deadline: Instant::now() + CLAUSE_PATIENCE,
            admin: None,
            home: None,
        }
    }

    // --- connections and places ---------------------------------------------------------------

    /// Returns the connection bound as the administrator.
    pub fn admin(&mut self) -> Result<&mut Session, Finding> {
        if self.admin.is_none() {
            self.admin = Some(self.site.admin(self.deadline)?);
        }
        Ok(self.admin.as_mut().expect("made above"))
    }

    /// Opens an anonymous connection.
    pub fn session(&self) -> Result<Session, Finding> {
        self.site.session(self.deadline)
    }

    /// Opens a connection bound with a name and a password.
    pub fn bound(&self, name: &str, password: &str) -> Result<Session, Finding> {
        let mut session = self.session()?;
        session.bind(name, password)?.ok()?;
        Ok(session)
    }

    /// Returns the clause's own entry, "home", which the first call adds.
    pub fn home(&mut self) -> Result<String, Finding> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        let (site, id) = (self.site, self.id);
        let admin = self.admin()?;
        let run = site.run_base().expect("there is an administrator");
        let home = format!("ou={id},{run}");
        admin.add(&unit(&home), &[])?.ok()?;
        self.home = Some(home.clone());
        Ok(home)
    }

    // --- making entries -----------------------------------------------------------------------

    /// Adds an entry below home, which must succeed, and returns its name. The RDN's values are
    /// added to the attributes; an attribute named twice has two values.
    pub fn put(&mut self, rdn: &str, attributes: &[(&str, &str)]) -> Result<String, Finding> {
        let entry = self.draft(rdn, attributes)?;
        self.admin()?.add(&entry, &[])?.ok()?;
        Ok(entry.name)
    }

    /// Adds an entry below home and returns the result.
    pub fn add(&mut self, rdn: &str, attributes: &[(&str, &str)]) -> Result<Outcome, Finding> {
        let entry = self.draft(rdn, attributes)?;
        self.admin()?.add(&entry, &[])
    }

    /// Returns the entry that `put` adds.
    pub fn draft(&mut self, rdn: &str, attributes: &[(&str, &str)]) -> Result<Entry, Finding> {
        let mut entry = Entry::of(&format!("{rdn},{}", self.home()?), &[]);
        for (name, value) in attributes {
            entry.push(name, value.as_bytes().to_vec());
        }
        // Special characters and several values are left to clauses about names.
        let first = Some(rdn).filter(|it| !it.contains(['+', '\\', '"', '#']));
        let first = first.and_then(|it| it.split(',').next());
        let plain = first.and_then(|it| it.split_once('='));
        if let Some((name, value)) = plain
            && !entry.has(name)
        {
            entry.push(name, value.as_bytes().to_vec());
        }
        Ok(entry)
    }

    /// Adds a person `uid=…` (inetOrgPerson) below home, with further attributes.
    pub fn person(&mut self, uid: &str, more: &[(&str, &str)]) -> Result<String, Finding> {
        self.put(&format!("uid={uid}"), &person(uid, more))
    }

    /// Adds an organizational unit below home.
    pub fn unit(&mut self, name: &str) -> Result<String, Finding> {
        self.put(
            &format!("ou={name}"),
            &[("objectClass", "organizationalUnit")],
        )
    }

    // --- asking as the administrator ----------------------------------------------------------

    /// Searches as the administrator.
    pub fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
    ) -> Result<Found, Finding> {
        self.admin()?.search(base, scope, filter, select)
    }

    /// Searches the subtree of home, with controls.
    pub fn search_home(
        &mut self,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
    ) -> Result<Found, Finding> {
        let home = self.home()?;
        let scope = Scope::WholeSubtree;
        self.admin()?
            .search_with(&home, scope, filter, select, controls, |_| {})
    }

    /// Returns the values of the RDNs of matching entries below home, sorted, joined by spaces.
    pub fn matching(&mut self, filter: &str) -> Result<String, Finding> {
        let found = self.search_home(filter, &["1.1"], &[])?.ok()?;
        Ok(rdn_values(&found).join(" "))
    }

    /// Continues if the matching entries below home are these; else it is a finding.
    pub fn finds(&mut self, filter: &str, expected: &str) -> Result<(), Finding> {
        let came = self.matching(filter)?;
        equal(&came, expected, filter)
    }

    /// Returns some attributes of an entry that must exist.
    pub fn get(&mut self, name: &str, select: &[&str]) -> Result<Entry, Finding> {
        self.search(name, Scope::BaseObject, EVERYTHING, select)?
            .one()
    }

    /// Continues if an entry has this name; else it is a finding.
    pub fn exists(&mut self, name: &str) -> Result<(), Finding> {
        self.get(name, &["1.1"]).map(|_| ())
    }

    /// Continues if no entry has this name; else it is a finding.
    pub fn is_gone(&mut self, name: &str) -> Result<(), Finding> {
        let found = self.search(name, Scope::BaseObject, EVERYTHING, &["1.1"])?;
        found.is(ResultCode::NO_SUCH_OBJECT).map(|_| ())
    }

    /// Modifies an entry as the administrator.
    pub fn modify(&mut self, name: &str, changes: &[Modification]) -> Result<Outcome, Finding> {
        self.admin()?.modify(name, changes, &[])
    }

    /// Compares as the administrator.
    pub fn compare(
        &mut self,
        name: &str,
        attribute: &str,
        value: &str,
    ) -> Result<Outcome, Finding> {
        self.admin()?
            .compare(name, attribute, value.as_bytes(), &[])
    }

    /// Deletes an entry as the administrator.
    pub fn delete(&mut self, name: &str) -> Result<Outcome, Finding> {
        self.admin()?.delete(name, &[])
    }

    /// Renames an entry as the administrator, with the old RDN deleted and the superior kept.
    pub fn rename(&mut self, name: &str, new_rdn: &str) -> Result<Outcome, Finding> {
        self.admin()?.rename(name, new_rdn, true, None, &[])
    }

    /// Sends an extended operation as the administrator.
    pub fn extended(&mut self, name: &str, value: Option<&[u8]>) -> Result<Outcome, Finding> {
        self.admin()?.extended(name, value, &[])
    }
}

/// Returns the attributes of a person.
pub fn person<'t>(uid: &'t str, more: &[(&'t str, &'t str)]) -> Vec<(&'t str, &'t str)> {
    let mut all = vec![
        ("objectClass", "top"),
        ("objectClass", "person"),
        ("objectClass", "organizationalPerson"),
        ("objectClass", "inetOrgPerson"),
    ];
    for (name, value) in [("cn", uid), ("sn", uid)] {
        if !more.iter().any(|(given, _)| *given == name) {
            all.push((name, value));
        }
    }
    all.extend(more);
    all
}

/// Returns the value of each entry's RDN, sorted.
pub fn rdn_values(found: &Found) -> Vec<String> {
    let mut values: Vec<String> = found.entries.iter().map(|it| rdn_value(&it.name)).collect();
    values.sort();
    values
}

/// Returns the value of the first RDN of a name.
pub fn rdn_value(name: &str) -> String {
    let rdn = name.split(',').next().unwrap_or_default();
    rdn.split_once('=')
        .map_or("", |(_, value)| value)
        .to_owned()
}

/// Continues if both values are equal; else it is a finding.
pub fn equal<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
    came: T,
    expected: U,
    what: impl std::fmt::Display,
) -> Result<(), Finding> {
    if came == expected {
        return Ok(());
    }
    Finding::wrong(
        format_args!("{what}: {expected:?}"),
        format_args!("{came:?}"),
    )
}

/// Continues if the condition holds; else it is a finding.
pub fn ensure(
    holds: bool,
    expected: impl std::fmt::Display,
    came: impl std::fmt::Debug,
) -> Result<(), Finding> {
    if holds {
        return Ok(());
    }
    Finding::wrong(expected, format_args!("{came:?}"))
}

/// Returns whether two names are equal as texts without case and spaces after separators: enough
/// for names that clauses chose themselves.
pub fn same_name(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(", ", ",");
    plain(one) == plain(other)
}

/// Continues if two names are equal; else it is a finding.
pub fn equal_name(came: &str, expected: &str) -> Result<(), Finding> {
    if same_name(came, expected) {
        return Ok(());
    }
    Finding::wrong(expected, came)
}
