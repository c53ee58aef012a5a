//! A small service that answers like a directory, for tests of the layers in front of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use directory::{Followed, Peer};
use protocol::{
    Authentication, LdapResult, Message, MessageId, Request, ResultCode, ResultKind, oid,
    write_extended_result, write_result,
};

use crate::inbox::Inbox;
use crate::service::Service;
use directory::Flow;

/// Answers searches as their base says, `entries bytes slice`: number of entries, length of each in
/// bytes, number in a slice. Writes wait until the test completes them.
#[derive(Default)]
pub struct Fake {
    /// Calls received, in order.
    pub log: Vec<String>,
    /// Receiver of writes.
    pub writer: Option<Sender<Done>>,
    /// Number of entries written to an output.
    pub entries: Arc<AtomicUsize>,
    /// Number of times the thread went to sleep.
    pub sleeps: Arc<AtomicUsize>,
    /// Maximum number of waiting operations.
    pub pending_max: u32,
    /// Whether every turn is over when asked.
    pub hurried: bool,
}

pub struct FakeSession {
    pub id: u64,
    pub peer: Peer,
    pub name: String,
}

pub struct FakeCursor {
    id: MessageId,
    entries: usize,
    bytes: usize,
    slice: usize,
    /// Whether each entry is sent in two parts.
    halves: bool,
    /// The second part of the current entry.
    rest: Vec<u8>,
}

impl FakeCursor {
    /// Parses a base: number of entries, length of their names, entries in a slice, and 2 for
    /// sending each in two parts; 1 for missing numbers.
    fn of(id: MessageId, base: &str) -> FakeCursor {
        let mut numbers = base.split_whitespace().map(|it| it.parse().unwrap_or(1));
        let mut next = || numbers.next().unwrap_or(1);
        FakeCursor {
            id,
            entries: next(),
            bytes: next(),
            slice: next(),
            halves: next() == 2,
            rest: Vec::new(),
        }
    }
}

/// A following search, begun with the base `follow`: sends one entry in each turn, and takes two
/// turns at the beginning. With `follow halves` it sends each entry in two parts.
pub struct FakeFollower {
    id: MessageId,
    said: bool,
    halves: bool,
    /// The second part of the current entry.
    rest: Vec<u8>,
}

/// A completed write; with the kind of a search, news for that search.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    pub session: u64,
    pub id: MessageId,
    pub kind: ResultKind,
}

/// Returns completed writes, as a writer thread does, until the senders are dropped.
pub fn complete_all(writes: &Receiver<Done>, inbox: &Inbox<Done>) {
    while let Ok(first) = writes.recv() {
        inbox.completions(std::iter::once(first).chain(writes.try_iter()).collect());
    }
}

impl Fake {
    fn search(
        &mut self,
        mut cursor: FakeCursor,
        out: &mut Vec<u8>,
    ) -> Flow<FakeCursor, FakeFollower> {
        out.append(&mut cursor.rest);
        for _ in 0..cursor.slice.min(cursor.entries) {
            let start = out.len();
            let mark = protocol::begin_search_entry(out, cursor.id, &vec![b'x'; cursor.bytes]);
            protocol::finish_search_entry(out, mark, &[]);
            cursor.entries -= 1;
            self.entries.fetch_add(1, Ordering::SeqCst);
            if cursor.halves {
                cursor.rest = out.split_off(start + (out.len() - start) / 2);
                return Flow::More(cursor);
            }
        }
        if cursor.entries > 0 {
            return Flow::More(cursor);
        }
        write_result(
            out,
            cursor.id,
            ResultKind::SearchDone,
            &LdapResult::success(),
            &[],
        );
        Flow::Done
    }
}

impl Service for Fake {
    type Session = FakeSession;
    type Cursor = FakeCursor;
    type Follower = FakeFollower;
    type Completion = Done;

    fn open_session(&mut self, id: u64, peer: Peer) -> FakeSession {
        FakeSession {
            id,
            peer,
            name: String::new(),
        }
    }

    fn look_anew(&mut self) {}

    fn execute(
        &mut self,
        session: &mut FakeSession,
        message: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Flow<FakeCursor, FakeFollower> {
        let id = message.id;
        self.log.push(format!("{} {id}", message.request.name()));
        let success = LdapResult::success();
        match &message.request {
            Request::Unbind => return Flow::Close,
            Request::Abandon(_) => {}
            Request::Bind(it) => {
                if let Authentication::Simple(b"wrong") = it.authentication {
                    let refused = LdapResult::new(ResultCode::INVALID_CREDENTIALS, "");
                    write_result(out, id, ResultKind::Bind, &refused, &[]);
                } else {
                    session.name = it.name.to_owned();
                    write_result(out, id, ResultKind::Bind, &success, &[]);
                }
            }
            Request::Search(it) if it.base.starts_with("follow") => {
                return Flow::Follow(FakeFollower {
                    id,
                    said: false,
                    halves: it.base == "follow halves",
                    rest: Vec::new(),
                });
            }
            Request::Search(it) => return self.search(FakeCursor::of(id, it.base), out),
            Request::Compare(_) => {
                let result = LdapResult::new(ResultCode::COMPARE_TRUE, "");
                write_result(out, id, ResultKind::Compare, &result, &[]);
            }
            Request::Extended(it) if it.name == oid::START_TLS => {
                write_extended_result(out, id, &success, Some(oid::START_TLS), None, &[]);
                return Flow::StartTls;
            }
            Request::Extended(it) if it.name == oid::WHO_AM_I => {
                let name = format!("{:?} {}", session.peer, session.name);
                write_extended_result(out, id, &success, None, Some(name.as_bytes()), &[]);
            }
            Request::Extended(_) => {
                let unknown = LdapResult::new(ResultCode::PROTOCOL_ERROR, "unknown");
                write_extended_result(out, id, &unknown, None, None, &[]);
            }
            Request::Modify(_) | Request::Add(_) | Request::Delete(_) | Request::ModifyDn(_) => {
                let kind = ResultKind::of(message.request.tag()).unwrap();
                if let Some(writer) = &self.writer {
                    writer
                        .send(Done {
                            session: session.id,
                            id,
                            kind,
                        })
                        .unwrap();
                }
                return Flow::Waiting;
            }
        }
        Flow::Done
    }

    fn refused(&mut self, _: &mut FakeSession, _: &[u8], _: &LdapResult, _: &mut Vec<u8>) {}

    fn resume(
        &mut self,
        _: &mut FakeSession,
        cursor: FakeCursor,
        out: &mut Vec<u8>,
    ) -> Flow<FakeCursor, FakeFollower> {
        self.search(cursor, out)
    }

    fn complete(
        &mut self,
        _: &mut FakeSession,
        done: Done,
        out: &mut Vec<u8>,
    ) -> Flow<FakeCursor, FakeFollower> {
        write_result(out, done.id, done.kind, &LdapResult::success(), &[]);
        Flow::Done
    }

    fn follow(
        &mut self,
        _: &mut FakeSession,
        follower: &mut FakeFollower,
        out: &mut Vec<u8>,
    ) -> Followed {
        self.log.push(format!("follow {}", follower.id));
        if follower.rest.is_empty() {
            let start = out.len();
            let mark = protocol::begin_search_entry(out, follower.id, b"news");
            protocol::finish_search_entry(out, mark, &[]);
            if follower.halves {
                follower.rest = out.split_off(start + (out.len() - start) / 2);
                return Followed::Inside;
            }
        }
        out.append(&mut follower.rest);
        // The initial content takes two turns.
        if std::mem::replace(&mut follower.said, true) {
            Followed::CaughtUp
        } else {
            Followed::More
        }
    }

    fn cancel_following(&mut self, follower: FakeFollower, id: MessageId, out: &mut Vec<u8>) {
        let canceled = LdapResult::new(ResultCode::CANCELED, "");
        write_result(out, follower.id, ResultKind::SearchDone, &canceled, &[]);
        write_extended_result(out, id, &LdapResult::success(), None, None, &[]);
    }

    fn news(done: &Done) -> Option<MessageId> {
        (done.kind == ResultKind::SearchDone).then_some(done.id)
    }

    fn moved(&mut self, _: usize, _: usize) {}

    fn lost(&mut self, _: Done) {}

    fn heard_all(&mut self, _: &FakeSession) {}

    fn stop(&mut self) {}

    fn forget(&mut self, _: &mut FakeSession) {}

    fn is_inside_message(cursor: &FakeCursor) -> bool {
        !cursor.rest.is_empty()
    }

    fn abandon(&mut self, _: &mut FakeSession, cursor: FakeCursor) {
        self.log.push(format!("abandoned {}", cursor.id));
    }

    fn secured(&mut self, session: &mut FakeSession) {
        session.peer.secure = true;
    }

    fn pending_operations_max(&self, _: &FakeSession) -> u32 {
        self.pending_max
    }

    fn may_overlap(&self, _: &FakeSession, request: &Request<'_>) -> bool {
        matches!(
            request,
            Request::Add(_) | Request::Modify(_) | Request::Delete(_) | Request::ModifyDn(_)
        )
    }

    fn turn_is_over(&mut self, begins: bool) -> bool {
        self.hurried && !begins
    }

    fn purse(&self, session: &FakeSession) -> u64 {
        session.id
    }

    fn count_buffers(&mut self, _: &mut FakeSession, _: usize) -> Result<(), LdapResult> {
        Ok(())
    }

    fn is_anonymous(&self, session: &FakeSession) -> bool {
        session.name.is_empty()
    }

    fn session_of(done: &Done) -> u64 {
        done.session
    }

    fn sleep(&mut self) {
        self.sleeps.fetch_add(1, Ordering::SeqCst);
    }
}

/// Requests as bytes.
pub mod say {
    use protocol::{
        Authentication, BindRequest, CompareRequest, DeleteRequest, DerefAliases, ExtendedRequest,
        Filter, MessageId, OwnedControl, Request, Scope, SearchRequest, control, oid,
        write_request,
    };

    fn request(id: MessageId, request: &Request<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        write_request(&mut out, id, request, &[]);
        out
    }

    pub fn search(id: MessageId, base: &str) -> Vec<u8> {
        let search = SearchRequest {
            base,
            scope: Scope::BaseObject,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter: Filter::Present("objectClass"),
            attributes: Vec::new(),
        };
        request(id, &Request::Search(search))
    }

    pub fn compare(id: MessageId) -> Vec<u8> {
        let (entry, attribute) = ("cn=a", "cn");
        request(
            id,
            &Request::Compare(CompareRequest {
                entry,
                attribute,
                value: b"a",
            }),
        )
    }

    /// A compare that announces `responses` responses.
    pub fn announce(id: MessageId, responses: u32, delay_us_max: Option<u32>) -> Vec<u8> {
        let asked = control::QueueLength {
            responses,
            delay_us_max,
        };
        let asked = OwnedControl::with_value(oid::QUEUE_LENGTH, false, |out| asked.encode(out));
        let compare = CompareRequest {
            entry: "cn=a",
            attribute: "cn",
            value: b"a",
        };
        let mut out = Vec::new();
        write_request(&mut out, id, &Request::Compare(compare), &[asked]);
        out
    }

    pub fn delete(id: MessageId) -> Vec<u8> {
        request(id, &Request::Delete(DeleteRequest { entry: "cn=a" }))
    }

    pub fn bind(id: MessageId, name: &str, password: &[u8]) -> Vec<u8> {
        let authentication = Authentication::Simple(password);
        request(
            id,
            &Request::Bind(BindRequest {
                version: 3,
                name,
                authentication,
            }),
        )
    }

    pub fn abandon(id: MessageId, target: MessageId) -> Vec<u8> {
        request(id, &Request::Abandon(target))
    }

    pub fn unbind(id: MessageId) -> Vec<u8> {
        request(id, &Request::Unbind)
    }

    pub fn extended(id: MessageId, name: &str) -> Vec<u8> {
        request(
            id,
            &Request::Extended(ExtendedRequest { name, value: None }),
        )
    }

    pub fn cancel(id: MessageId, target: u8) -> Vec<u8> {
        let value = [0x30, 3, 2, 1, target];
        let extended = ExtendedRequest {
            name: protocol::oid::CANCEL,
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
        Response::Delete(it) => format!("delete {id} {}", it.code.name()),
        Response::Extended {
            result,
            name: Some(oid::NOTICE_OF_DISCONNECTION),
            ..
        } => {
            format!("notice {} {}", result.code.name(), result.diagnostic)
        }
        Response::Extended { result, .. } => format!("extended {id} {}", result.code.name()),
        other => format!("{other:?}"),
    }
}
