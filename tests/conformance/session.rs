//! An LDAP connection with access to every detail: message ids, controls, single responses, raw
//! bytes.
//!
//! No behaviour of a server causes a panic here: an unexpected one is returned as a [`Finding`].
//! Waiting ends at the session's deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use protocol::{
    AddRequest, Authentication, BindRequest, Change, CompareRequest, DeleteRequest,
    ExtendedRequest, Filter, MessageId, ModifyDnRequest, ModifyRequest, OwnedControl, Request,
    ResponseMessage, Scope, SearchRequest, oid,
};

use crate::Finding;
use crate::entry::{Encoded, Entry, Event, Found, Modification, Outcome, event};

/// Octets of a response at most: a search of everything comes in many smaller ones.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A stream of bytes: a socket, or TLS over one.
pub trait Transport: Read + Write + Send {
    /// Sets the time limit of a single read or write from now on.
    fn limit(&mut self, patience: Duration) -> io::Result<()>;
}

impl Transport for TcpStream {
    fn limit(&mut self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))?;
        self.set_write_timeout(Some(patience))
    }
}

/// A session over one connection.
pub struct Session {
    transport: Box<dyn Transport>,
    deadline: Instant,
    input: Vec<u8>,
    /// Offset of the first message not yet taken. 0 <= taken <= input.len()
    taken: usize,
    next_id: MessageId,
}

impl Session {
    /// Begins a session over a new connection, which ends at `deadline` in any case.
    pub fn new(transport: Box<dyn Transport>, deadline: Instant) -> Self {
        Session {
            transport,
            deadline,
            input: Vec::new(),
            taken: 0,
            next_id: 1,
        }
    }

    // --- single messages ----------------------------------------------------------------------

    /// Sends a request and returns its message id.
    pub fn send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        let id = self.next_id;
        self.next_id += 1;
        let mut bytes = Vec::new();
        protocol::write_request(&mut bytes, id, request, controls);
        self.send_raw(&bytes)?;
        Ok(id)
    }

    /// Sends bytes unchanged.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.limit()?;
        self.transport.write_all(bytes)?;
        self.transport.flush()
    }

    /// Receives the next message. An error of kind `UnexpectedEof` means that the server closed.
    pub fn receive(&mut self) -> io::Result<(MessageId, Event)> {
        let length = loop {
            let waiting = &self.input[self.taken..];
            match protocol::frame(waiting, MESSAGE_BYTES_MAX) {
                Ok(Some(length)) => break length,
                Ok(None) => self.read_more()?,
                Err(error) => return Err(invalid("no LDAP message", error)),
            }
        };
        let message = &self.input[self.taken..self.taken + length];
        let decoded = ResponseMessage::decode(message)
            .map_err(|error| invalid("no correct response", error))?;
        let answer = (decoded.id, event(decoded));
        self.taken += length;
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        }
        Ok(answer)
    }

    /// Receives messages up to the final one of operation `id`.
    pub fn finish(&mut self, id: MessageId) -> io::Result<Found> {
        let mut entries = Vec::new();
        let mut references = Vec::new();
        loop {
            let (of, event) = self.receive()?;
            if of != id {
                return Err(invalid(
                    "a message of another operation",
                    format!("{of}: {event:?}"),
                ));
            }
            match event {
                Event::Entry(entry, _) => entries.push(entry),
                Event::Reference(urls) => references.push(urls),
                Event::Intermediate(..) => {}
                Event::Done(outcome) => {
                    return Ok(Found {
                        entries,
                        references,
                        outcome,
                    });
                }
            }
        }
    }

    /// Sends a request and returns its messages up to the final one.
    pub fn call(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> io::Result<Found> {
        let id = self.send(request, controls)?;
        self.finish(id)
    }

    /// Waits until the server closes the connection, and drops messages before that. `false` when
    /// it has not by the session's deadline.
    pub fn is_closed_by_server(&mut self) -> bool {
        loop {
            match self.read_more() {
                Ok(()) => self.input.clear(),
                Err(error) => return !is_timeout(&error),
            }
        }
    }

    /// Sets the time at which every wait ends.
    pub fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    fn limit(&mut self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.transport.limit(left)
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.taken > 0 {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        self.limit()?;
        let mut buffer = [0; 64 << 10];
        let count = self.transport.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.input.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    // --- operations ---------------------------------------------------------------------------

    /// Binds by name and password.
    pub fn bind(&mut self, name: &str, password: &str) -> Result<Outcome, Finding> {
        let authentication = Authentication::Simple(password.as_bytes());
        self.bind_with(3, name, authentication, &[])
    }

    /// Binds by any method.
    pub fn bind_with(
        &mut self,
        version: i64,
        name: &str,
        authentication: Authentication<'_>,
        controls: &[OwnedControl],
    ) -> Result<Outcome, Finding> {
        let request = BindRequest {
            version,
            name,
            authentication,
        };
        Ok(self.call(&Request::Bind(request), controls)?.outcome)
    }

    /// Searches with a filter as text and an attribute selection.
    pub fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
    ) -> Result<Found, Finding> {
        self.search_with(base, scope, filter, select, &[], |_| {})
    }

    /// Searches with controls; `adjust` changes the request before it is sent.
    pub fn search_with(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
        adjust: impl FnOnce(&mut SearchRequest<'_>),
    ) -> Result<Found, Finding> {
        let id = self.send_search(base, scope, filter, select, controls, adjust)?;
        Ok(self.finish(id)?)
    }

    /// Sends a search without waiting for its results. The filter must be correct.
    pub fn send_search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
        adjust: impl FnOnce(&mut SearchRequest<'_>),
    ) -> io::Result<MessageId> {
        let encoded = protocol::parse_filter(filter).unwrap_or_else(|error| {
            panic!("a clause with a filter that is none: {filter}: {error}")
        });
        let mut reader = protocol::ber::Reader::new(&encoded);
        let filter = Filter::decode(&mut reader, 64).expect("what was parsed decodes");
        let mut request = SearchRequest {
            attributes: select.to_vec(),
            ..SearchRequest::new(base, scope, filter)
        };
        adjust(&mut request);
        self.send(&Request::Search(request), controls)
    }

    /// Returns all user and operational attributes of one entry; `None` when it does not exist.
    pub fn read(&mut self, name: &str) -> Result<Option<Entry>, Finding> {
        let scope = Scope::BaseObject;
        let found = self.search(name, scope, "(objectClass=*)", &["*", "+"])?;
        if found.outcome.code == protocol::ResultCode::NO_SUCH_OBJECT {
            return Ok(None);
        }
        Ok(Some(found.one()?))
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: &Entry, controls: &[OwnedControl]) -> Result<Outcome, Finding> {
        let id = self.send_add(entry, controls)?;
        Ok(self.finish(id)?.outcome)
    }

    /// Sends an add without waiting.
    pub fn send_add(&mut self, entry: &Entry, controls: &[OwnedControl]) -> io::Result<MessageId> {
        let encoded = Encoded::new(&entry.attributes);
        let request = AddRequest {
            entry: &entry.name,
            attributes: encoded.attributes(),
        };
        self.send(&Request::Add(request), controls)
    }

    /// Modifies an entry.
    pub fn modify(
        &mut self,
        name: &str,
        changes: &[Modification],
        controls: &[OwnedControl],
    ) -> Result<Outcome, Finding> {
        let id = self.send_modify(name, changes, controls)?;
        Ok(self.finish(id)?.outcome)
    }

    /// Sends a modify without waiting.
    pub fn send_modify(
        &mut self,
        name: &str,
        changes: &[Modification],
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        let attributes: Vec<(String, Vec<Vec<u8>>)> = changes
            .iter()
            .map(|it| (it.attribute.clone(), it.values.clone()))
            .collect();
        let encoded = Encoded::new(&attributes);
        let changes = changes.iter().zip(encoded.attributes());
        let changes = changes
            .map(|(change, attribute)| Change {
                operation: change.operation,
                attribute,
            })
            .collect();
        let request = ModifyRequest {
            object: name,
            changes,
        };
        self.send(&Request::Modify(request), controls)
    }

    /// Deletes an entry.
    pub fn delete(&mut self, name: &str, controls: &[OwnedControl]) -> Result<Outcome, Finding> {
        let request = Request::Delete(DeleteRequest { entry: name });
        Ok(self.call(&request, controls)?.outcome)
    }

    /// Renames or moves an entry.
    pub fn rename(
        &mut self,
        name: &str,
        new_rdn: &str,
        delete_old_rdn: bool,
        new_superior: Option<&str>,
        controls: &[OwnedControl],
    ) -> Result<Outcome, Finding> {
        let request = ModifyDnRequest {
            entry: name,
            new_rdn,
            delete_old_rdn,
            new_superior,
        };
        Ok(self.call(&Request::ModifyDn(request), controls)?.outcome)
    }

    /// Compares an assertion with an entry.
    pub fn compare(
        &mut self,
        name: &str,
        attribute: &str,
        value: &[u8],
        controls: &[OwnedControl],
    ) -> Result<Outcome, Finding> {
        let request = CompareRequest {
            entry: name,
            attribute,
            value,
        };
        Ok(self.call(&Request::Compare(request), controls)?.outcome)
    }

    /// Sends an extended operation and returns its response.
    pub fn extended(
        &mut self,
        name: &str,
        value: Option<&[u8]>,
        controls: &[OwnedControl],
    ) -> Result<Outcome, Finding> {
        let request = Request::Extended(ExtendedRequest { name, value });
        Ok(self.call(&request, controls)?.outcome)
    }

    /// Returns the authorization identity of this connection (Who am I?, RFC 4532), in lower case.
    pub fn who_am_i(&mut self) -> Result<String, Finding> {
        let outcome = self.extended(oid::WHO_AM_I, None, &[])?.ok()?;
        let name = outcome.value.unwrap_or_default();
        Ok(String::from_utf8_lossy(&name).to_lowercase())
    }
}

/// Returns whether the wait ended before the server sent anything or closed.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn invalid(what: &str, came: impl std::fmt::Debug) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {came:?}"))
}
