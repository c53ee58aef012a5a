//! A connection to the old server.

use super::entry::Entry;
use super::trouble::{Trouble, explain};
use crate::reach::Target;
use ::conformance::Transport;
use protocol::{
    Authentication, BindRequest, Filter, LdapResult, MessageId, OwnedControl, Request, Response,
    ResponseMessage, ResultCode, Scope, SearchRequest, frame, write_request,
};
use std::io;
use std::time::Duration;

/// Octets read from the socket at once.
const READ_BYTES: usize = 256 << 10;
/// Maximum length of a message in bytes: a group of millions of members fits.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// Maximum time for a response that needs no work of the old server.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Address of the old server, and the identity to bind as.
pub struct Old {
    /// URL as typed.
    pub url: String,
    /// How the old server is reached.
    pub target: Target,
    /// DN to bind as; empty for anonymous.
    pub bind_dn: String,
    /// Password of the DN.
    pub password: Vec<u8>,
}

/// A connection to the old server.
pub struct Remote {
    transport: Box<dyn Transport>,
    url: String,
    /// DN bound as.
    pub who: String,
    input: Vec<u8>,
    /// Offset of the first message not taken yet.
    taken: usize,
    last_id: MessageId,
}

impl Remote {
    /// Connects and binds.
    pub fn open(old: &Old) -> Result<Remote, Trouble> {
        let lost = |error: io::Error| Trouble::Lost(format!("{}: {error}", old.url));
        let mut remote = Remote {
            transport: old.target.connect().map_err(lost)?,
            url: old.url.clone(),
            who: old.bind_dn.clone(),
            input: Vec::new(),
            taken: 0,
            last_id: 0,
        };
        if !old.bind_dn.is_empty() {
            remote.bind(old)?;
        }
        Ok(remote)
    }

    fn bind(&mut self, old: &Old) -> Result<(), Trouble> {
        let request = Request::Bind(BindRequest {
            version: 3,
            name: &old.bind_dn,
            authentication: Authentication::Simple(&old.password),
        });
        self.send(&request, &[])?;
        let text = |what: &str| format!("{}: bind as {}: {what}", old.url, old.bind_dn);
        let answer = self.answer()?;
        let message = ResponseMessage::decode(&answer)
            .map_err(|error| Trouble::refused(text(&error.to_string())))?;
        let Response::Bind { result, .. } = message.response else {
            return Err(Trouble::refused(text("expected its response, got another")));
        };
        match result.code {
            ResultCode::SUCCESS => Ok(()),
            ResultCode::BUSY | ResultCode::UNAVAILABLE => {
                Err(Trouble::Lost(text(result.code.name())))
            }
            ResultCode::INVALID_CREDENTIALS => Err(Trouble::refused(text(
                "invalidCredentials: check the name and the password",
            ))),
            code => {
                let said = format!("{} {}", code.name(), result.diagnostic);
                Err(Trouble::refused(text(said.trim_end())))
            }
        }
    }

    /// Sends a request and returns its message id.
    pub fn send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<MessageId, Trouble> {
        self.last_id += 1;
        let mut bytes = Vec::new();
        write_request(&mut bytes, self.last_id, request, controls);
        let sent = self
            .transport
            .limit(ANSWER_PATIENCE)
            .and_then(|()| self.transport.write_all(&bytes))
            .and_then(|()| self.transport.flush());
        match sent {
            Ok(()) => Ok(self.last_id),
            Err(error) => Err(self.lost(error)),
        }
    }

    /// The next message; `None` if none arrives in the given time.
    pub fn next(&mut self, patience: Duration) -> Result<Option<&[u8]>, Trouble> {
        let length = loop {
            match self.whole()? {
                Some(length) => break length,
                None if self.read_more(patience)? => {}
                None => return Ok(None),
            }
        };
        let start = self.taken;
        self.taken += length;
        Ok(self.input.get(start..start + length))
    }

    /// Whether a message has been received.
    pub fn has_message(&self) -> bool {
        matches!(self.whole(), Ok(Some(_)))
    }

    fn whole(&self) -> Result<Option<usize>, Trouble> {
        let waiting = self.input.get(self.taken..).unwrap_or_default();
        frame(waiting, MESSAGE_BYTES_MAX)
            .map_err(|error| Trouble::refused(format!("{}: no LDAP message: {error}", self.url)))
    }

    /// Reads more bytes; returns `false` if none arrive in time.
    fn read_more(&mut self, patience: Duration) -> Result<bool, Trouble> {
        self.input.drain(..self.taken);
        self.taken = 0;
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let read =
            self.transport
                .limit(patience)
                .and_then(|()| match self.input.get_mut(before..) {
                    Some(room) => self.transport.read(room),
                    None => Ok(0),
                });
        self.input
            .truncate(before + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => Err(Trouble::Lost(format!(
                "{}: the old server closed the connection",
                self.url
            ))),
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Ok(false),
                io::ErrorKind::Interrupted => Ok(true),
                _ => Err(self.lost(error)),
            },
        }
    }

    fn lost(&self, error: io::Error) -> Trouble {
        Trouble::Lost(format!("{}: {error}", self.url))
    }

    /// Waits for a response that must come soon.
    fn answer(&mut self) -> Result<Vec<u8>, Trouble> {
        match self.next(ANSWER_PATIENCE)? {
            Some(message) => Ok(message.to_vec()),
            None => Err(Trouble::Lost(format!("{}: no answer", self.url))),
        }
    }

    /// One entry with the attributes asked for.
    pub fn read(&mut self, dn: &str, attributes: &[&str]) -> Result<Entry, Trouble> {
        let request = everything(dn, Scope::BaseObject, attributes);
        let (found, result) = self.found(&request)?;
        match found.into_iter().next_back() {
            Some(entry) if result.code == ResultCode::SUCCESS => Ok(entry),
            None if result.code == ResultCode::SUCCESS => Err(Trouble::refused(format!(
                "{}: the bind name may not read \"{dn}\"",
                self.url
            ))),
            _ => Err(explain(&result, dn, &self.who)),
        }
    }

    /// A few entries, and the result of the search.
    pub fn search(
        &mut self,
        request: &SearchRequest<'_>,
    ) -> Result<(Vec<Entry>, ResultCode), Trouble> {
        let (found, result) = self.found(request)?;
        Ok((found, result.code))
    }

    fn found(&mut self, request: &SearchRequest<'_>) -> Result<(Vec<Entry>, LdapResult), Trouble> {
        self.send(&Request::Search(request.clone()), &[])?;
        let mut found = Vec::new();
        loop {
            let answer = self.answer()?;
            let message = ResponseMessage::decode(&answer).map_err(|it| self.broken(&it))?;
            match message.response {
                Response::SearchEntry { name, attributes } => {
                    found.push(Entry::of(name, &attributes));
                }
                Response::SearchDone(result) => return Ok((found, result)),
                _ => {}
            }
        }
    }

    /// The error for bytes that are no response.
    pub fn broken(&self, error: &dyn std::fmt::Display) -> Trouble {
        Trouble::refused(format!("{}: no correct response: {error}", self.url))
    }
}

/// A search request for all entries.
pub fn everything<'a>(base: &'a str, scope: Scope, attributes: &[&'a str]) -> SearchRequest<'a> {
    SearchRequest {
        attributes: attributes.to_vec(),
        ..SearchRequest::new(base, scope, Filter::Present("objectClass"))
    }
}
