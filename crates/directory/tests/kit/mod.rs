//! A directory in a temporary folder with one session, spoken to in LDAP messages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "each test file uses its part of the kit")]

pub mod groups;

use directory::{
    Completion, Directory, Flow, Followed, Follower, InitOptions, Mailbox, Options, Peer, Session,
    Worker,
};
use policy::password::Scheme;
use protocol::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest, DecodeLimits,
    DeleteRequest, DerefAliases, Filter, LdapResult, Message, ModifyDnRequest, ModifyRequest,
    OwnedControl, PartialAttribute, Request, Response, ResponseMessage, ResultCode, Scope,
    SearchRequest, frame, parse_filter, put_partial_attribute, write_request,
};
use std::sync::{Arc, Condvar, Mutex};
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
    worker: Worker,
    session: Session,
    inbox: Arc<Inbox>,
    last_id: i32,
    /// The search that was begun last and stays.
    pub follower: Option<Box<Follower>>,
    /// The most bytes that were answered in one step.
    pub most_at_once: usize,
    /// Slices behind the first that the last request took.
    pub slices: usize,
    /// Called between two slices of a search, for other clients' work.
    pub between: Option<Box<dyn FnMut()>>,
}

#[derive(Default)]
struct Inbox {
    arrived: Mutex<Vec<Completion>>,
    wake: Condvar,
}

impl Mailbox for Inbox {
    fn deliver(&self, completions: Vec<Completion>) {
        self.arrived.lock().unwrap().extend(completions);
        self.wake.notify_one();
    }
}

/// An entry as a search returned it: the DN, then attributes with their values as text.
pub type Found = (String, Vec<(String, Vec<String>)>);

/// A request that may wait: what it waits for, and what was answered so far.
pub struct Begun {
    flow: Flow,
    out: Vec<u8>,
}

impl Begun {
    /// Whether the request is a search that waits for its next turn.
    pub fn is_parked(&self) -> bool {
        matches!(self.flow, Flow::More(_))
    }

    /// Whether the request waits for the writer or for a hashing thread.
    pub fn waits(&self) -> bool {
        matches!(self.flow, Flow::Waiting)
    }
}

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
        password_scheme: Scheme::Ssha512,
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
        let mut client = self.another();
        let peer = Peer {
            exposed: true,
            ..Peer::default()
        };
        client.session = client.worker.open_session(1, peer);
        client
    }

    /// One more client of the directory, under TLS.
    pub fn secured(&self) -> Client {
        let mut client = self.another();
        client.session.secured();
        client
    }

    fn of(folder: Arc<TempDir>, directory: Directory) -> Client {
        let inbox = Arc::new(Inbox::default());
        let mut worker = directory
            .worker(Arc::clone(&inbox) as Arc<dyn Mailbox>)
            .unwrap();
        let session = worker.open_session(1, Peer::default());
        Client {
            folder,
            directory,
            worker,
            session,
            inbox,
            last_id: 0,
            follower: None,
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
    pub fn begin(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Begun {
        self.last_id += 1;
        let mut bytes = Vec::new();
        write_request(&mut bytes, self.last_id, request, controls);
        let message = Message::decode(&bytes, &DecodeLimits::default()).unwrap();
        let mut out = Vec::new();
        let flow = self.worker.execute(&mut self.session, &message, &mut out);
        Begun { flow, out }
    }

    /// Gives a search that waits for its next turn that turn.
    pub fn resume(&mut self, begun: Begun) -> Begun {
        let Begun { flow, mut out } = begun;
        let Flow::More(cursor) = flow else {
            panic!("expected a search that waits for a turn, got {flow:?}");
        };
        let flow = self.worker.resume(&mut self.session, cursor, &mut out);
        Begun { flow, out }
    }

    /// Goes on with a request until it is answered.
    pub fn finish(&mut self, begun: Begun) -> Answer {
        let Begun { mut flow, mut out } = begun;
        let mut before = 0;
        self.slices = 0;
        loop {
            self.most_at_once = self.most_at_once.max(out.len() - before);
            before = out.len();
            self.slices += usize::from(matches!(flow, Flow::More(_)));
            flow = match flow {
                Flow::Waiting => {
                    let mut arrived = self.inbox.arrived.lock().unwrap();
                    while arrived.is_empty() {
                        let woken = self.inbox.wake.wait_timeout(arrived, ANSWER_MAX).unwrap();
                        assert!(!woken.1.timed_out(), "no answer within {ANSWER_MAX:?}");
                        arrived = woken.0;
                    }
                    let completion = arrived.remove(0);
                    drop(arrived);
                    if completion.news().is_some() {
                        flow = Flow::Waiting;
                        continue;
                    }
                    self.worker
                        .complete(&mut self.session, completion, &mut out)
                }
                Flow::More(cursor) => {
                    if let Some(between) = &mut self.between {
                        between();
                    }
                    self.worker.resume(&mut self.session, cursor, &mut out)
                }
                Flow::Follow(mut follower) => {
                    self.follow(&mut follower, &mut out);
                    self.follower = Some(follower);
                    break;
                }
                Flow::Done | Flow::Close | Flow::StartTls => break,
            };
        }
        self.worker.sleep();
        answer(&out)
    }

    /// Next messages of the search that stays, and whether it has ended.
    pub fn news(&mut self) -> (Answer, Followed) {
        let mut follower = self.follower.take().expect("a search stays");
        let mut out = Vec::new();
        let followed = self.follow(&mut follower, &mut out);
        self.worker.sleep();
        self.follower = Some(follower);
        (answer(&out), followed)
    }

    /// Lets a search that stays say all it has to say.
    fn follow(&mut self, follower: &mut Follower, out: &mut Vec<u8>) -> Followed {
        loop {
            let before = out.len();
            let followed = self.worker.follow(&self.session, follower, out);
            self.most_at_once = self.most_at_once.max(out.len() - before);
            if !matches!(followed, Followed::More | Followed::Inside) {
                return followed;
            }
            if let Some(between) = &mut self.between {
                between();
            }
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
        let mut arrived = self.inbox.arrived.lock().unwrap();
        while arrived.is_empty() {
            let woken = self.inbox.wake.wait_timeout(arrived, ANSWER_MAX).unwrap();
            assert!(!woken.1.timed_out(), "no check within {ANSWER_MAX:?}");
            arrived = woken.0;
        }
        drop(arrived);
        self.worker.sleep();
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
    ) -> Begun {
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
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter,
            attributes: attributes.to_vec(),
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

fn answer(mut out: &[u8]) -> Answer {
    let mut answer = Answer {
        entries: Vec::new(),
        entry_controls: Vec::new(),
        references: Vec::new(),
        result: LdapResult::success(),
        value: None,
        controls: Vec::new(),
    };
    while let Some(length) = frame(out, 1 << 30).unwrap() {
        let (first, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(first).unwrap();
        let owned = |it: &protocol::Control<'_>| (it.oid.to_owned(), it.value.map(<[u8]>::to_vec));
        answer.controls = message.controls.iter().map(owned).collect();
        match message.response {
            Response::SearchEntry { name, attributes } => {
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                let attributes = attributes.iter().map(|it| {
                    (
                        it.description.to_owned(),
                        it.values.into_iter().map(text).collect(),
                    )
                });
                answer
                    .entry_controls
                    .push(std::mem::take(&mut answer.controls));
                answer.entries.push((name.to_owned(), attributes.collect()));
            }
            Response::SearchReference(urls) => {
                answer
                    .references
                    .push(urls.iter().map(|url| (*url).to_owned()).collect());
            }
            Response::SearchDone(it)
            | Response::Modify(it)
            | Response::Add(it)
            | Response::Delete(it)
            | Response::ModifyDn(it)
            | Response::Compare(it) => answer.result = it,
            Response::Bind {
                result,
                server_credentials,
            } => {
                answer.result = result;
                answer.value = server_credentials.map(<[u8]>::to_vec);
            }
            Response::Extended { result, value, .. } => {
                answer.result = result;
                answer.value = value.map(<[u8]>::to_vec);
            }
            Response::Intermediate { .. } => {}
        }
    }
    answer
}
