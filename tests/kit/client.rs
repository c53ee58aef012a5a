//! The LDAP client of the conformance clauses for tests, which fail by panicking.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use conformance::Session;
use protocol::{MessageId, OwnedControl, Request, Scope, SearchRequest};
use rustix::net;

pub use conformance::{Entry, Event, Found, Modification, Outcome};

use crate::PATIENCE;

/// A connection to a server.
pub struct Client {
    session: Session,
    /// The socket of the session, for tests that misbehave.
    stream: TcpStream,
}

impl Client {
    /// Connects; panics when no server listens.
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap_or_else(|error| panic!("{address}: {error}"))
    }

    /// Connects; an error when no server listens.
    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    /// Connects from an address of this machine, e.g. `127.0.0.2`.
    pub fn connect_from(own: [u8; 4], address: SocketAddr) -> Self {
        let kind = net::SocketType::STREAM;
        let socket = net::socket(net::AddressFamily::INET, kind, None).expect("a socket");
        net::bind(&socket, &SocketAddr::from((own, 0))).expect("an address of this machine");
        net::connect(&socket, &address).unwrap_or_else(|error| panic!("{address}: {error}"));
        Self::over(socket.into()).expect("connected")
    }

    /// Returns a client over an open connection.
    pub fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let transport = Box::new(stream.try_clone()?);
        Ok(Client {
            session: Session::new(transport, Instant::now() + PATIENCE),
            stream,
        })
    }

    /// Returns the socket, for tests that misbehave.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Returns the session, with time for one more exchange.
    pub fn session(&mut self) -> &mut Session {
        self.session.set_deadline(Instant::now() + PATIENCE);
        &mut self.session
    }

    // --- single messages ----------------------------------------------------------------------

    /// Sends a request and returns its message id.
    pub fn send(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> MessageId {
        self.try_send(request, controls)
            .expect("the server takes the request")
    }

    /// Sends a request; does nothing when the connection is closed.
    pub fn try_send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        self.session().send(request, controls)
    }

    /// Sends bytes unchanged.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.session().send_raw(bytes)
    }

    /// Receives the next message. An error of kind `UnexpectedEof` means that the server closed.
    pub fn try_receive(&mut self) -> io::Result<(MessageId, Event)> {
        unless_garbage(self.session().receive())
    }

    /// Receives the next message; panics when there is none.
    #[track_caller]
    pub fn receive(&mut self) -> (MessageId, Event) {
        self.try_receive().expect("the server answers")
    }

    /// Receives messages up to the final one of operation `id`.
    pub fn try_finish(&mut self, id: MessageId) -> io::Result<Found> {
        unless_garbage(self.session().finish(id))
    }

    /// Sends a request and returns its messages up to the final one.
    #[track_caller]
    pub fn call(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Found {
        let id = self.send(request, controls);
        self.try_finish(id).expect("the server answers")
    }

    /// Waits until the server closes the connection, and drops messages before that; `false` when
    /// it does not.
    pub fn is_closed_by_server(&mut self) -> bool {
        self.session().is_closed_by_server()
    }

    // --- operations ---------------------------------------------------------------------------

    /// Binds by name and password.
    #[track_caller]
    pub fn bind(&mut self, name: &str, password: &str) -> Outcome {
        self.session().bind(name, password).expect(ANSWERS)
    }

    /// Searches with a filter as text and an attribute selection.
    #[track_caller]
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, select: &[&str]) -> Found {
        self.search_with(base, scope, filter, select, &[], |_| {})
    }

    /// Searches with controls; `adjust` changes the request before it is sent.
    #[track_caller]
    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
        adjust: impl FnOnce(&mut SearchRequest<'_>),
    ) -> Found {
        let id = self.send_search(base, scope, filter, select, controls, adjust);
        self.try_finish(id).expect("the server answers")
    }

    /// Sends a search without waiting for its results.
    pub fn send_search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
        adjust: impl FnOnce(&mut SearchRequest<'_>),
    ) -> MessageId {
        self.session()
            .send_search(base, scope, filter, select, controls, adjust)
            .expect("the server takes the request")
    }

    /// Returns all user and operational attributes of one entry.
    #[track_caller]
    pub fn read(&mut self, name: &str) -> Option<Entry> {
        self.session().read(name).expect(ANSWERS)
    }

    /// Adds an entry.
    #[track_caller]
    pub fn add(&mut self, entry: &Entry) -> Outcome {
        self.add_with(entry, &[])
    }

    /// Adds an entry with controls.
    #[track_caller]
    pub fn add_with(&mut self, entry: &Entry, controls: &[OwnedControl]) -> Outcome {
        self.session().add(entry, controls).expect(ANSWERS)
    }

    /// Sends an add without waiting.
    pub fn try_send_add(
        &mut self,
        entry: &Entry,
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        self.session().send_add(entry, controls)
    }

    /// Modifies an entry.
    #[track_caller]
    pub fn modify(&mut self, name: &str, changes: &[Modification]) -> Outcome {
        self.modify_with(name, changes, &[])
    }

    /// Modifies an entry with controls.
    #[track_caller]
    pub fn modify_with(
        &mut self,
        name: &str,
        changes: &[Modification],
        controls: &[OwnedControl],
    ) -> Outcome {
        self.session()
            .modify(name, changes, controls)
            .expect(ANSWERS)
    }

    /// Sends a modify without waiting.
    pub fn try_send_modify(
        &mut self,
        name: &str,
        changes: &[Modification],
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        self.session().send_modify(name, changes, controls)
    }

    /// Deletes an entry.
    #[track_caller]
    pub fn delete(&mut self, name: &str) -> Outcome {
        self.session().delete(name, &[]).expect(ANSWERS)
    }

    /// Renames or moves an entry.
    #[track_caller]
    pub fn rename(
        &mut self,
        name: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
    ) -> Outcome {
        self.session()
            .rename(name, new_rdn, delete_old_rdn, new_superior, &[])
            .expect(ANSWERS)
    }

    /// Compares an assertion with an entry.
    #[track_caller]
    pub fn compare(&mut self, name: &str, attribute: &str, value: &str) -> Outcome {
        self.session()
            .compare(name, attribute, value.as_bytes(), &[])
            .expect(ANSWERS)
    }

    /// Sends an extended operation and returns its response.
    #[track_caller]
    pub fn extended(&mut self, name: &str, value: Option<&[u8]>) -> Outcome {
        self.session().extended(name, value, &[]).expect(ANSWERS)
    }

    /// Returns the authorization identity of this connection (Who am I?, RFC 4532), in lower case.
    #[track_caller]
    pub fn who_am_i(&mut self) -> String {
        self.session().who_am_i().expect(ANSWERS)
    }
}

const ANSWERS: &str = "the server answers";

/// Panics on a message that is not LDAP. Other errors are returned: a test may break a connection.
#[track_caller]
fn unless_garbage<T>(received: io::Result<T>) -> io::Result<T> {
    match received {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => panic!("{error}"),
        other => other,
    }
}
