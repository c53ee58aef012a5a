//! A real directory in a temporary folder, requests as bytes and responses as words: the set-up of
//! tests of connections.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use directory::{Clock, Completion, Directory, InitOptions, Mailbox, Options, SystemClock, Worker};
use local::LocalClient;
use policy::Scheme;
use protocol::{AddRequest, ChangeOperation, MessageId, ModifyRequest, oid, put_partial_attribute};
use protocol::{Change, PartialAttribute};
use tempfile::TempDir;

/// Deadline for a loaded machine; no test waits for it if it succeeds.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Name and password of the administrator.
pub const ADMIN: &str = "cn=admin,dc=example,dc=com";
pub const PASSWORD: &[u8] = b"secret";
/// Length of an entry with which a slice of a search ends, in bytes.
pub const SLICE_BYTES: usize = 300_000;
/// Members of a group that is sent in parts: some 600 kB of names.
const MEMBERS: usize = 12_000;
/// The naming context.
const BASE: &str = "dc=example,dc=com";

/// A directory in a folder of its own, with the person `cn=a`.
pub struct Home {
    pub directory: Directory,
    pub owner: Owner,
    _folder: TempDir,
}

impl Home {
    pub fn new(options: &Options) -> Home {
        Home::at(tempfile::tempdir().unwrap(), "", options)
    }

    /// A directory in the folder `data` of a folder.
    pub fn at(folder: TempDir, data: &str, options: &Options) -> Home {
        let data = folder.path().join(data);
        let password = policy::hash(Scheme::Ssha, PASSWORD).unwrap();
        replica::create(&data, &InitOptions::new(BASE, password)).unwrap();
        let directory = Directory::open(&data, options).unwrap();
        let owner = LocalClient::as_owner(&directory, PATIENCE).unwrap();
        let mut owner = Owner {
            client: owner,
            read: 0,
        };
        owner.person("cn=a", 1);
        Home {
            directory,
            owner,
            _folder: folder,
        }
    }

    /// A worker, and the completions that are delivered to it.
    pub fn worker(&self) -> (Worker, Mail) {
        let (post, completions) = channel();
        let worker = self.directory.worker(Arc::new(Post(post))).unwrap();
        let early = Vec::new();
        (worker, Mail { completions, early })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.directory.shutdown();
    }
}

/// A client of a directory that may do everything and needs no connection.
pub struct Owner {
    client: LocalClient,
    /// Number of entries that it has read.
    read: u64,
}

impl Owner {
    fn add(&mut self, rdn: &str, attributes: &[(&str, &[&[u8]])]) {
        let encoded: Vec<Vec<u8>> = (attributes.iter())
            .map(|(name, values)| encode(name, values))
            .collect();
        let attributes = encoded.iter().map(|it| attribute(it)).collect();
        let entry = &format!("{rdn},{BASE}");
        self.client
            .add(AddRequest { entry, attributes }, &[])
            .unwrap();
    }

    /// Adds a person with a description of `bytes` bytes.
    pub fn person(&mut self, rdn: &str, bytes: usize) {
        let classes: &[&[u8]] = &[b"person"];
        let description = vec![b'x'; bytes];
        let values = [
            ("objectClass", classes),
            ("sn", &[b"a"]),
            ("description", &[&description]),
        ];
        self.add(rdn, &values);
    }

    /// Adds `ou=<name>` and `count` persons below it, with descriptions of `bytes` bytes.
    pub fn people(&mut self, name: &str, count: usize, bytes: usize) {
        self.add(
            &format!("ou={name}"),
            &[("objectClass", &[b"organizationalUnit"])],
        );
        for at in 0..count {
            self.person(&format!("cn={at},ou={name}"), bytes);
        }
    }

    /// Adds `ou=<name>` and `count` groups below it with computed members. A search that returns
    /// them is parked at each of them, because their length is not known beforehand.
    pub fn computed(&mut self, name: &str, count: usize) {
        self.add(
            &format!("ou={name}"),
            &[("objectClass", &[b"organizationalUnit"])],
        );
        let url = format!("ldap:///{BASE}??one?(objectClass=person)");
        for at in 0..count {
            let rdn = format!("cn={at},ou={name}");
            let classes: &[&[u8]] = &[b"groupOfURLs"];
            self.add(
                &rdn,
                &[("objectClass", classes), ("memberURL", &[url.as_bytes()])],
            );
        }
    }

    /// Adds the group `cn=large`, whose entry is sent in parts.
    pub fn large(&mut self) {
        let members: Vec<String> = (0..MEMBERS)
            .map(|at| format!("cn=nobody {at:05} of a large group,{BASE}"))
            .collect();
        let members: Vec<&[u8]> = members.iter().map(|it| it.as_bytes()).collect();
        let classes: &[&[u8]] = &[b"groupOfEntries"];
        self.add(
            "cn=large",
            &[("objectClass", classes), ("member", &members)],
        );
    }

    /// Changes an entry.
    pub fn touch(&mut self, rdn: &str) {
        let encoded = encode("description", &[b"changed"]);
        let changes = vec![Change {
            operation: ChangeOperation::Replace,
            attribute: attribute(&encoded),
        }];
        let object = &format!("{rdn},{BASE}");
        self.client
            .modify(ModifyRequest { object, changes }, &[])
            .unwrap();
    }

    /// The number that an entry of the monitor shows.
    pub fn monitored(&mut self, entry: &str, attribute: &str) -> u64 {
        let name = format!("{entry},cn=monitor");
        let found = self.client.read(&name, &[attribute]).unwrap().unwrap();
        self.read += 1;
        let value = &found.values(attribute)[0];
        String::from_utf8_lossy(value).parse().unwrap()
    }

    /// Number of entries that were put into outputs for others.
    pub fn entries_sent(&mut self) -> u64 {
        let read = self.read;
        self.monitored("cn=Entries,cn=Statistics", "monitorCounter") - read
    }
}

fn encode(name: &str, values: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, name, values.iter().copied());
    out
}

fn attribute(encoded: &[u8]) -> PartialAttribute<'_> {
    PartialAttribute::from_checked(encoded).unwrap()
}

/// A mailbox that a test empties, so that it decides when a connection hears of a completion.
struct Post(Sender<Completion>);

impl Mailbox for Post {
    fn deliver(&self, completions: Vec<Completion>) {
        for it in completions {
            // A test that is over takes none.
            let _ = self.0.send(it);
        }
    }
}

/// The completions that were delivered to a worker.
pub struct Mail {
    completions: Receiver<Completion>,
    /// Completions that came while another was waited for.
    early: Vec<Completion>,
}

impl Mail {
    /// Waits for the end of an operation.
    pub fn end(&mut self, id: MessageId) -> Completion {
        self.wait(|it| it.news().is_none() && it.message_id() == id)
    }

    /// Waits for news for a search that follows the directory.
    pub fn news(&mut self, id: MessageId) -> Completion {
        self.wait(|it| it.news() == Some(id))
    }

    /// Waits for any completion.
    pub fn next(&mut self) -> Completion {
        self.wait(|_| true)
    }

    fn wait(&mut self, is_wanted: impl Fn(&Completion) -> bool) -> Completion {
        loop {
            if let Some(at) = self.early.iter().position(&is_wanted) {
                return self.early.remove(at);
            }
            let next = self.completions.recv_timeout(PATIENCE);
            self.early.push(next.expect("a completion"));
        }
    }
}

/// A clock that stops the writer.
#[derive(Default)]
pub struct Gate {
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Sets whether the writer waits from now on.
    pub fn set(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.changed.notify_all();
    }
}

impl Clock for Gate {
    fn now_us(&self) -> u64 {
        if std::thread::current().name() == Some("writer") {
            let closed = self.closed.lock().unwrap();
            drop(self.changed.wait_while(closed, |closed| *closed).unwrap());
        }
        SystemClock.now_us()
    }

    fn uuid(&self) -> [u8; 16] {
        SystemClock.uuid()
    }
}

/// Requests as bytes.
pub mod say {
    use super::{BASE, attribute, encode};
    use protocol::{
        AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest,
        DerefAliases, ExtendedRequest, Filter, MessageId, ModifyRequest, OwnedControl, Request,
        Scope, SearchRequest, control, oid, write_request,
    };

    fn request(id: MessageId, request: &Request<'_>) -> Vec<u8> {
        with_control(id, request, None)
    }

    fn with_control(
        id: MessageId,
        request: &Request<'_>,
        control: Option<OwnedControl>,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        write_request(&mut out, id, request, control.as_slice());
        out
    }

    fn find(base: &str, scope: Scope) -> Request<'_> {
        Request::Search(SearchRequest {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter: Filter::Present("objectClass"),
            attributes: Vec::new(),
        })
    }

    /// A search for one entry.
    pub fn search(id: MessageId, rdn: &str) -> Vec<u8> {
        request(id, &find(&format!("{rdn},{BASE}"), Scope::BaseObject))
    }

    /// A search for the entries below `ou=<name>`.
    pub fn list(id: MessageId, name: &str) -> Vec<u8> {
        request(id, &find(&format!("ou={name},{BASE}"), Scope::SingleLevel))
    }

    /// A search for one entry that goes on with its changes.
    pub fn follow(id: MessageId, rdn: &str) -> Vec<u8> {
        let asked = control::PersistentSearch {
            change_types: 15,
            changes_only: false,
            return_entry_changes: false,
        };
        let value = |out: &mut Vec<u8>| asked.encode(out);
        let control = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, value);
        let name = format!("{rdn},{BASE}");
        with_control(id, &find(&name, Scope::BaseObject), Some(control))
    }

    fn compared(entry: &str) -> Request<'_> {
        Request::Compare(CompareRequest {
            entry,
            attribute: "cn",
            value: b"a",
        })
    }

    /// A compare that is true.
    pub fn compare(id: MessageId) -> Vec<u8> {
        request(id, &compared(&format!("cn=a,{BASE}")))
    }

    /// A compare that announces `responses` responses.
    pub fn announce(id: MessageId, responses: u32, delay_us_max: Option<u32>) -> Vec<u8> {
        let asked = control::QueueLength {
            responses,
            delay_us_max,
        };
        let asked = OwnedControl::with_value(oid::QUEUE_LENGTH, false, |out| asked.encode(out));
        with_control(id, &compared(&format!("cn=a,{BASE}")), Some(asked))
    }

    /// A change of `cn=a`.
    pub fn modify(id: MessageId) -> Vec<u8> {
        describe(id, b"changed")
    }

    /// A change of the description of `cn=a`.
    pub fn describe(id: MessageId, description: &[u8]) -> Vec<u8> {
        let encoded = encode("description", &[description]);
        let changes = vec![Change {
            operation: ChangeOperation::Replace,
            attribute: attribute(&encoded),
        }];
        let object = &format!("cn=a,{BASE}");
        request(id, &Request::Modify(ModifyRequest { object, changes }))
    }

    /// Adds a person.
    pub fn add(id: MessageId, rdn: &str) -> Vec<u8> {
        let values: [(&str, &[u8]); 2] = [("objectClass", b"person"), ("sn", b"a")];
        let encoded = values.map(|(name, value)| encode(name, &[value]));
        let attributes = encoded.iter().map(|it| attribute(it)).collect();
        let entry = &format!("{rdn},{BASE}");
        request(id, &Request::Add(AddRequest { entry, attributes }))
    }

    pub fn bind(id: MessageId, name: &str, password: &[u8]) -> Vec<u8> {
        let authentication = Authentication::Simple(password);
        let bind = BindRequest {
            version: 3,
            name,
            authentication,
        };
        request(id, &Request::Bind(bind))
    }

    /// A bind as the process at the other end of the socket.
    pub fn bind_external(id: MessageId) -> Vec<u8> {
        let authentication = Authentication::Sasl {
            mechanism: "EXTERNAL",
            credentials: None,
        };
        let bind = BindRequest {
            version: 3,
            name: "",
            authentication,
        };
        request(id, &Request::Bind(bind))
    }

    /// A bind as the administrator.
    pub fn bind_admin(id: MessageId) -> Vec<u8> {
        bind(id, super::ADMIN, super::PASSWORD)
    }

    pub fn abandon(id: MessageId, target: MessageId) -> Vec<u8> {
        request(id, &Request::Abandon(target))
    }

    pub fn unbind(id: MessageId) -> Vec<u8> {
        request(id, &Request::Unbind)
    }

    pub fn extended(id: MessageId, name: &str) -> Vec<u8> {
        let asked = ExtendedRequest { name, value: None };
        request(id, &Request::Extended(asked))
    }

    pub fn cancel(id: MessageId, target: u8) -> Vec<u8> {
        let value = [0x30, 3, 2, 1, target];
        let extended = ExtendedRequest {
            name: oid::CANCEL,
            value: Some(&value),
        };
        request(id, &Request::Extended(extended))
    }
}

/// Responses in words: `name id code`, one for each message.
pub fn heard(mut bytes: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    while let Ok(Some(length)) = protocol::frame(bytes, usize::MAX) {
        words.push(word(&bytes[..length]));
        bytes = &bytes[length..];
    }
    assert!(bytes.is_empty(), "the output ends inside a message");
    words
}

/// One response in words.
pub fn word(bytes: &[u8]) -> String {
    use protocol::{Response, ResponseMessage};
    let message = ResponseMessage::decode(bytes).unwrap();
    let id = message.id;
    match message.response {
        Response::SearchEntry { .. } => format!("entry {id}"),
        Response::SearchDone(it) => format!("done {id} {}", it.code.name()),
        Response::Bind { result, .. } => format!("bind {id} {}", result.code.name()),
        Response::Compare(it) => format!("compare {id} {}", it.code.name()),
        Response::Add(it) => format!("add {id} {}", it.code.name()),
        Response::Modify(it) => format!("modify {id} {}", it.code.name()),
        Response::Extended {
            result,
            name: Some(oid::NOTICE_OF_DISCONNECTION),
            ..
        } => {
            format!("notice {} {}", result.code.name(), result.diagnostic)
        }
        Response::Extended { result, value, .. } => {
            let value = value.map_or_else(String::new, |it| format!(" {}", it.escape_ascii()));
            format!("extended {id} {}{value}", result.code.name())
        }
        other => format!("{other:?}"),
    }
}
