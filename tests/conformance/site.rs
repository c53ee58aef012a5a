//! The server under test: its address, the administrator, the base entry, and the announced
//! features.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use protocol::{ResultCode, Scope, oid};

use crate::session::{Session, Transport};
use crate::{Clause, Entry, Finding, Need};

/// Time limit of a clause.
pub(crate) const CLAUSE_PATIENCE: Duration = Duration::from_secs(30);

type Connect = Box<dyn Fn() -> io::Result<Box<dyn Transport>> + Send + Sync>;

/// The announcements of a server in its root DSE and its subschema.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// OIDs of controls.
    pub controls: Vec<String>,
    /// OIDs of extended operations.
    pub extensions: Vec<String>,
    /// OIDs of features.
    pub features: Vec<String>,
    /// Names and OIDs of attribute types.
    pub types: Vec<String>,
    /// Names and OIDs of object classes.
    pub classes: Vec<String>,
    /// Names and OIDs of matching rules.
    pub rules: Vec<String>,
    /// The definitions of attribute types and object classes as published.
    pub definitions: Vec<String>,
    /// Names of naming contexts.
    pub naming_contexts: Vec<String>,
    /// Vendor name of the server.
    pub vendor: String,
}

/// The server under test.
pub struct Site {
    connect: Connect,
    admin: Option<(String, String)>,
    base: String,
    run: String,
    /// The announcements of the server.
    pub offers: Offers,
}

impl Site {
    /// Connects, reads the server's announcements, and adds the entry below which the clauses work.
    ///
    /// `admin` is a name and a password with the right to write below `base` (by default the first
    /// naming context); without it, clauses that write do not run. `mark` must differ from run to
    /// run. `assumed` are OIDs that the server supports without announcing them.
    pub fn open(
        connect: Connect,
        admin: Option<(String, String)>,
        base: Option<String>,
        mark: &str,
        assumed: &[String],
    ) -> Result<Site, Finding> {
        let mut site = Site {
            connect,
            admin,
            base: String::new(),
            run: String::new(),
            offers: Offers::default(),
        };
        let mut session = site.session(Instant::now() + CLAUSE_PATIENCE)?;
        if let Some((name, password)) = &site.admin {
            session.bind(name, password)?.ok()?;
        }
        site.offers = offers(&mut session)?;
        for list in [
            &mut site.offers.controls,
            &mut site.offers.extensions,
            &mut site.offers.features,
        ] {
            list.extend_from_slice(assumed);
        }
        let first = site.offers.naming_contexts.iter().find(|it| !it.is_empty());
        site.base = match base.or_else(|| first.cloned()) {
            Some(base) => base,
            None => return Finding::wrong("a naming context in the root DSE", "none"),
        };
        if site.admin.is_some() {
            site.run = format!("ou=conformance-{mark},{}", site.base);
            session.add(&unit(&site.run), &[])?.ok()?;
        }
        Ok(site)
    }

    /// Returns the entry below which all clauses of this run work; `None` without an administrator.
    pub fn run_base(&self) -> Option<&str> {
        (!self.run.is_empty()).then_some(self.run.as_str())
    }

    /// Returns the entry given as the base.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Opens an anonymous connection.
    pub fn session(&self, deadline: Instant) -> Result<Session, Finding> {
        match (self.connect)() {
            Ok(transport) => Ok(Session::new(transport, deadline)),
            Err(error) => Finding::wrong("a connection", error),
        }
    }

    /// Opens a connection bound as the administrator.
    pub fn admin(&self, deadline: Instant) -> Result<Session, Finding> {
        let Some((name, password)) = &self.admin else {
            let what = "a name and a password that may write";
            return Err(Finding::NotOffered(what.to_owned()));
        };
        let mut session = self.session(deadline)?;
        session.bind(name, password)?.ok()?;
        Ok(session)
    }

    /// Returns the administrator's name and password.
    pub fn administrator(&self) -> Result<(&str, &str), Finding> {
        match &self.admin {
            Some((name, password)) => Ok((name, password)),
            None => Err(Finding::NotOffered("an administrator's name".to_owned())),
        }
    }

    /// Returns the reason not to run a clause: the server lacks a feature that it needs, or would
    /// be harmed.
    pub fn leaves_out(&self, clause: &Clause) -> Option<String> {
        if let Some(missing) = clause.missing(&self.offers) {
            return Some(missing.to_string());
        }
        // This was seen with 2.5.13: one transaction on an idle server, in one of sixty runs.
        let transactions = Need::Extension(oid::START_TRANSACTION);
        let harms = self.is_openldap() && clause.needs.contains(&transactions);
        harms.then(|| "transactions that do not crash the server: slapd 2.5 may end".to_owned())
    }

    /// Returns whether the server calls itself OpenLDAP.
    pub fn is_openldap(&self) -> bool {
        self.offers.vendor.contains("OpenLDAP")
    }
}

/// Returns an organizational unit of this name.
pub(crate) fn unit(name: &str) -> Entry {
    let rdn = name.split(',').next().unwrap_or_default();
    let value = rdn.strip_prefix("ou=").unwrap_or_default();
    Entry::of(
        name,
        &[
            ("objectClass", &["top", "organizationalUnit"]),
            ("ou", &[value]),
        ],
    )
}

fn offers(session: &mut Session) -> Result<Offers, Finding> {
    let scope = Scope::BaseObject;
    let select = ["*", "+"];
    let root = session
        .search("", scope, "(objectClass=*)", &select)?
        .one()?;
    let mut offers = Offers {
        controls: root.texts("supportedControl"),
        extensions: root.texts("supportedExtension"),
        features: root.texts("supportedFeatures"),
        naming_contexts: unsorted(&root, "namingContexts"),
        ..Offers::default()
    };
    let says = ["vendorName", "vendorVersion", "objectClass"];
    offers.vendor = says.map(|it| root.texts(it).join(" ")).join(" ");
    let Some(subschema) = root.texts("subschemaSubentry").into_iter().next() else {
        return Ok(offers);
    };
    let select = ["attributeTypes", "objectClasses", "matchingRules"];
    let found = session.search(&subschema, scope, "(objectClass=subschema)", &select)?;
    let entry = match found.outcome.code {
        ResultCode::SUCCESS => found.one()?,
        _ => return Ok(offers),
    };
    offers.types = names(&entry.texts("attributeTypes"));
    offers.classes = names(&entry.texts("objectClasses"));
    offers.rules = names(&entry.texts("matchingRules"));
    offers.definitions = entry.texts("attributeTypes");
    offers.definitions.extend(entry.texts("objectClasses"));
    Ok(offers)
}

fn unsorted(entry: &Entry, attribute: &str) -> Vec<String> {
    let values = entry.values(attribute).iter();
    values
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

/// Returns the OID and the names of each definition.
fn names(definitions: &[String]) -> Vec<String> {
    let mut all = BTreeSet::new();
    for definition in definitions {
        let mut words = definition.split_whitespace();
        let oid = words.find(|word| *word != "(").unwrap_or_default();
        all.insert(oid.trim_start_matches('(').to_owned());
        let quoted = definition.split_once("NAME").map_or("", |(_, rest)| rest);
        let end = match quoted.trim_start().starts_with('(') {
            true => quoted.find(')'),
            false => quoted.match_indices('\'').nth(1).map(|(at, _)| at + 1),
        };
        let quoted = &quoted[..end.unwrap_or(0)];
        all.extend(quoted.split('\'').skip(1).step_by(2).map(str::to_owned));
    }
    all.into_iter().collect()
}
