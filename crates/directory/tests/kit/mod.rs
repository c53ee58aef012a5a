//! A directory in a temporary folder with one session, spoken to in LDAP messages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part of the kit")]

pub mod gate;
pub mod groups;

use directory::{Directory, Followed, InitOptions, Options, Peer};
use local::{LocalCall, LocalClient, Watch};
use policy::PasswordSettings;
use policy::password::Scheme;
use protocol::extended::EndTransactionRequest;
use protocol::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest,
    DeleteRequest, ExtendedRequest, Filter, LdapResult, ModifyDnRequest, ModifyRequest,
    OwnedControl, PartialAttribute, Request, ResultCode, Scope, SearchRequest, oid, parse_filter,
    put_partial_attribute,
};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use transfer::Meter;
use transfer::import::{Files, Format, ImportOptions, import};

pub const ADMIN: &str = "cn=admin,dc=example,dc=com";
pub const PASSWORD: &str = "secret";
/// How long the writer or a hash may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// One client of one directory.
pub struct Client {
    pub folder: Arc<TempDir>,
    pub directory: Directory,
    local: LocalClient,
    /// The search that was begun last and stays.
    pub watch: Option<Watch>,
    /// The most bytes that were answered in one step.
    pub most_at_once: usize,
    /// Slices behind the first that the last request took.
    pub slices: usize,
    /// Called between two slices of a search, for other clients' work.
    pub between: Option<Box<dyn FnMut()>>,
}

/// An entry as a search returned it: the DN, then attributes with their values as text.
pub type Found = (String, Vec<(String, Vec<String>)>);

/// Everything a request was answered with.
pub struct Answer {
    pub entries: Vec<Found>,
    /// The controls of each entry: OID and value.
    pub entry_controls: Vec<Vec<(String, Option<Vec<u8>>)>>,
    pub references: Vec<Vec<String>>,
    pub result: LdapResult,
    pub value: Option<Vec<u8>>,
    pub controls: Vec<(String, Option<Vec<u8>>)>,
}

impl Answer {
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub fn values(&self, attribute: &str) -> Vec<&str> {
        let (_, attributes) = &self.entries[0];
        let found = attributes.iter().find(|(name, _)| name == attribute);
        found.map_or_else(Vec::new, |(_, values)| {
            values.iter().map(String::as_str).collect()
        })
    }
}

pub fn options() -> Options {
    Options {
        passwords: PasswordSettings {
            scheme: Scheme::Ssha512,
            ..PasswordSettings::default()
        },
        ..Options::default()
    }
}

/// Panics with what was said unless it is success.
#[track_caller]
pub fn success(result: &LdapResult) {
    assert_eq!(result.code, ResultCode::SUCCESS, "{}", result.diagnostic);
}

/// A folder with a new directory for dc=example,dc=com.
fn created() -> Arc<TempDir> {
    let folder = Arc::new(TempDir::new().unwrap());
    let password = policy::password::hash(Scheme::Ssha, PASSWORD.as_bytes()).unwrap();
    let init = InitOptions::new("dc=example,dc=com", password);
    replica::create(folder.path(), &init).unwrap();
    folder
}

impl Client {
    /// A new directory for dc=example,dc=com, anonymous.
    pub fn new() -> Client {
        Client::open(created())
    }

    /// The administrator of a new directory with the entries of an LDIF.
    pub fn filled(ldif: &str) -> Client {
        let folder = created();
        let file = folder.path().join("people.ldif");
        std::fs::write(&file, ldif).unwrap();
        let source = Box::new(Files::new(vec![file], Format::Ldif));
        let rejects = folder.path().join("rejects.ldif");
        let options = ImportOptions::new(rejects);
        let imported = import(folder.path(), source, &options, &Meter::default()).unwrap();
        assert_eq!(imported.rejected, 0);
        let mut client = Client::open(folder);
        success(&client.bind(ADMIN, PASSWORD));
        client
    }

    /// Begins a transaction; returns the control of its updates.
    pub fn begin_transaction(&mut self) -> OwnedControl {
        let start = ExtendedRequest {
            name: oid::START_TRANSACTION,
            value: None,
        };
        let identifier = self.call(&Request::Extended(start), &[]).value;
        OwnedControl {
            oid: oid::TRANSACTION_SPECIFICATION.into(),
            critical: true,
            value: Some(identifier.unwrap()),
        }
    }

    /// Ends the transaction of a control and executes its updates.
    pub fn commit(&mut self, inside: &OwnedControl) -> Answer {
        let mut value = Vec::new();
        EndTransactionRequest {
            commit: true,
            identifier: inside.value.as_deref().unwrap(),
        }
        .encode(&mut value);
        let end = ExtendedRequest {
            name: oid::END_TRANSACTION,
            value: Some(&value),
        };
        self.call(&Request::Extended(end), &[])
    }

    /// The directory in a folder.
    pub fn open(folder: Arc<TempDir>) -> Client {
        let directory = Directory::open(folder.path(), &options()).unwrap();
        Client::of(folder, directory)
    }

    /// One more client of the same directory.
    pub fn another(&self) -> Client {
        Client::of(Arc::clone(&self.folder), self.directory.clone())
    }

    /// One more client of the same directory, over a connection that others can read.
    pub fn exposed(&self) -> Client {
        self.at(Peer {
            exposed: true,
            ..Peer::default()
        })
    }

    /// One more client of the directory, under TLS.
    pub fn secured(&self) -> Client {
        self.at(Peer {
            secure: true,
            ..Peer::default()
        })
    }

    pub fn at(&self, peer: Peer) -> Client {
        Client::with_peer(Arc::clone(&self.folder), self.directory.clone(), peer)
    }

    fn of(folder: Arc<TempDir>, directory: Directory) -> Client {
        Client::with_peer(folder, directory, Peer::default())
    }

    fn with_peer(folder: Arc<TempDir>, directory: Directory, peer: Peer) -> Client {
        let local = LocalClient::open(&directory, peer, ANSWER_MAX).unwrap();
        Client {
            folder,
            directory,
            local,
            watch: None,
            most_at_once: 0,
            slices: 0,
            between: None,
        }
    }

    /// A client of a new directory, bound as the administrator.
    pub fn admin() -> Client {
        let mut client = Client::new();
        success(&client.bind(ADMIN, PASSWORD));
        client
    }

    /// Closes the directory.
    pub fn close(self) {
        self.directory.shutdown();
    }

    /// Closes the directory and compares all its tables.
    pub fn check(self) {
        // The folder goes with the last who has it.
        let folder = Arc::clone(&self.folder);
        self.close();
        let report = replica::check::check(folder.path()).expect("checked");
        assert_eq!(report.problems, Vec::<String>::new());
    }

    /// Closes the directory and opens it again.
    pub fn reopen(self) -> Client {
        self.reopen_with(&options())
    }

    /// Like [`Client::reopen`], with other options.
    pub fn reopen_with(self, options: &Options) -> Client {
        self.directory.shutdown();
        let folder = Arc::clone(&self.folder);
        drop(self);
        let directory = Directory::open(folder.path(), options).unwrap();
        Client::of(folder, directory)
    }

    pub fn call(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Answer {
        let begun = self.begin(request, controls);
        self.finish(begun)
    }

    /// Executes a request up to where it waits for something.
    pub fn begin(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> LocalCall {
        self.local.begin(request, controls).unwrap()
    }

    /// Gives a search that waits for its next turn that turn.
    pub fn resume(&mut self, mut begun: LocalCall) -> LocalCall {
        assert!(begun.is_parked(), "expected a parked search, got {begun:?}");
        self.local.step(&mut begun).unwrap();
        begun
    }

    /// Goes on with a request until it is answered.
    pub fn finish(&mut self, mut begun: LocalCall) -> Answer {
        self.slices = 0;
        self.most_at_once = self.most_at_once.max(begun.responses().len());
        while begun.is_parked() || begun.waits() {
            if begun.is_parked() {
                self.slices += 1;
                self.happens_between();
            }
            let before = begun.responses().len();
            self.local.step(&mut begun).unwrap();
            self.most_at_once = self.most_at_once.max(begun.responses().len() - before);
        }
        let watch = begun.take_watch();
        let mut out = begun.into_responses();
        if watch.is_some() {
            self.watch = watch;
            self.follow(&mut out);
        }
        answer(&out)
    }

    /// Next messages of the search that stays, and whether it has ended.
    pub fn news(&mut self) -> (Answer, Followed) {
        let mut out = Vec::new();
        let followed = self.follow(&mut out);
        (answer(&out), followed)
    }

    /// Lets the search that stays say all it has to say.
    fn follow(&mut self, out: &mut Vec<u8>) -> Followed {
        loop {
            let watch = self.watch.as_mut().expect("a search stays");
            let before = out.len();
            let followed = self.local.follow_slice(watch, out);
            self.most_at_once = self.most_at_once.max(out.len() - before);
            if !matches!(followed, Followed::More | Followed::Inside) {
                return followed;
            }
            self.happens_between();
        }
    }

    fn happens_between(&mut self) {
        if let Some(between) = &mut self.between {
            between();
        }
    }

    pub fn bind(&mut self, name: &str, password: &str) -> LdapResult {
        let authentication = Authentication::Simple(password.as_bytes());
        let request = BindRequest {
            version: 3,
            name,
            authentication,
        };
        self.call(&Request::Bind(request), &[]).result
    }

    /// A bind whose slow check has ended when `meanwhile` happens, and that is answered afterwards.
    pub fn bind_late(
        &mut self,
        name: &str,
        password: &str,
        meanwhile: impl FnOnce(),
    ) -> LdapResult {
        let authentication = Authentication::Simple(password.as_bytes());
        let request = BindRequest {
            version: 3,
            name,
            authentication,
        };
        self.call_late(&Request::Bind(request), meanwhile).result
    }

    /// A request whose slow check has ended when `meanwhile` happens, and that is answered
    /// afterwards.
    pub fn call_late(&mut self, request: &Request<'_>, meanwhile: impl FnOnce()) -> Answer {
        let begun = self.begin(request, &[]);
        assert!(begun.waits(), "the check is slow");
        self.local.await_completion().expect("a check");
        meanwhile();
        self.finish(begun)
    }

    pub fn add(&mut self, entry: &str, attributes: &[(&str, &[&str])]) -> LdapResult {
        self.add_with(entry, attributes, &[]).result
    }

    pub fn add_with(
        &mut self,
        entry: &str,
        attributes: &[(&str, &[&str])],
        controls: &[OwnedControl],
    ) -> Answer {
        let encoded: Vec<Vec<u8>> = attributes.iter().map(|(n, v)| encode(n, v)).collect();
        let attributes = partial(&encoded);
        self.call(&Request::Add(AddRequest { entry, attributes }), controls)
    }

    /// Adds a person `cn=<name>` below dc=example,dc=com.
    pub fn add_person(&mut self, name: &str) {
        let dn = format!("cn={name},dc=example,dc=com");
        success(&self.add(&dn, &[("objectClass", &["person"]), ("sn", &[name])]));
    }

    pub fn modify(
        &mut self,
        object: &str,
        changes: &[(ChangeOperation, &str, &[&str])],
    ) -> LdapResult {
        self.modify_with(object, changes, &[]).result
    }

    pub fn modify_with(
        &mut self,
        object: &str,
        changes: &[(ChangeOperation, &str, &[&str])],
        controls: &[OwnedControl],
    ) -> Answer {
        let begun = self.begin_modify(object, changes, controls);
        self.finish(begun)
    }

    pub fn begin_modify(
        &mut self,
        object: &str,
        changes: &[(ChangeOperation, &str, &[&str])],
        controls: &[OwnedControl],
    ) -> LocalCall {
        let encoded: Vec<Vec<u8>> = changes.iter().map(|(_, n, v)| encode(n, v)).collect();
        let changes = changes.iter().zip(partial(&encoded));
        let changes = changes.map(|((operation, ..), attribute)| Change {
            operation: *operation,
            attribute,
        });
        let request = ModifyRequest {
            object,
            changes: changes.collect(),
        };
        self.begin(&Request::Modify(request), controls)
    }

    pub fn delete_with(&mut self, entry: &str, controls: &[OwnedControl]) -> Answer {
        self.call(&Request::Delete(DeleteRequest { entry }), controls)
    }

    pub fn rename_with(
        &mut self,
        entry: &str,
        new_rdn: &str,
        new_superior: Option<&str>,
        controls: &[OwnedControl],
    ) -> Answer {
        let request = ModifyDnRequest {
            entry,
            new_rdn,
            delete_old_rdn: true,
            new_superior,
        };
        self.call(&Request::ModifyDn(request), controls)
    }

    pub fn compare(&mut self, entry: &str, attribute: &str, value: &str) -> Answer {
        let value = value.as_bytes();
        let request = CompareRequest {
            entry,
            attribute,
            value,
        };
        self.call(&Request::Compare(request), &[])
    }

    pub fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
    ) -> Answer {
        self.search_with(base, scope, filter, attributes, |_| (), &[])
    }

    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
        change: impl FnOnce(&mut SearchRequest<'_>),
        controls: &[OwnedControl],
    ) -> Answer {
        let encoded = parse_filter(filter).unwrap();
        let mut reader = protocol::ber::Reader::new(&encoded);
        let filter = Filter::decode(&mut reader, 32).unwrap();
        let mut request = SearchRequest {
            attributes: attributes.to_vec(),
            ..SearchRequest::new(base, scope, filter)
        };
        change(&mut request);
        self.call(&Request::Search(request), controls)
    }
}

fn encode(name: &str, values: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, name, values.iter().map(|value| value.as_bytes()));
    out
}

fn partial(encoded: &[Vec<u8>]) -> Vec<PartialAttribute<'_>> {
    encoded
        .iter()
        .map(|it| PartialAttribute::from_checked(it).unwrap())
        .collect()
}

fn answer(out: &[u8]) -> Answer {
    let local = local::Answer::decode(out).unwrap();
    let text = |value: &Vec<u8>| String::from_utf8_lossy(value).into_owned();
    let mut answer = Answer {
        entries: Vec::new(),
        entry_controls: Vec::new(),
        references: local.references,
        result: local.result,
        value: local.value,
        controls: plain(local.controls),
    };
    for entry in local.entries {
        let attributes = entry.attributes.into_iter();
        let attributes =
            attributes.map(|it| (it.description, it.values.iter().map(text).collect()));
        answer.entries.push((entry.dn, attributes.collect()));
        answer.entry_controls.push(plain(entry.controls));
    }
    answer
}

/// Controls as OID and value.
fn plain(controls: Vec<OwnedControl>) -> Vec<(String, Option<Vec<u8>>)> {
    let controls = controls.into_iter();
    controls.map(|it| (it.oid.into_owned(), it.value)).collect()
}
