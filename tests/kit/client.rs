//! A small LDAP client that shows everything: message ids, controls, single responses, raw bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use protocol::{
    AddRequest, Authentication, BindRequest, Change, ChangeOperation, CompareRequest,
    DeleteRequest, DerefAliases, ExtendedRequest, Filter, LdapResult, MessageId, ModifyDnRequest,
    ModifyRequest, OwnedControl, PartialAttribute, Request, Response, ResponseMessage, ResultCode,
    Scope, SearchRequest,
};

use crate::PATIENCE;

/// Longest response the client takes: a search of everything comes in many smaller ones.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// An entry as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its distinguished name as given or received.
    pub name: String,
    /// Attribute descriptions with their values.
    pub attributes: Vec<(String, Vec<Vec<u8>>)>,
}

impl Entry {
    /// An entry from text values.
    pub fn of(name: &str, attributes: &[(&str, &[&str])]) -> Self {
        let bytes = |values: &&[&str]| values.iter().map(|it| it.as_bytes().to_vec()).collect();
        let attributes = attributes
            .iter()
            .map(|(name, values)| ((*name).to_owned(), bytes(values)))
            .collect();
        Entry {
            name: name.to_owned(),
            attributes,
        }
    }

    /// Appends one value.
    pub fn push(&mut self, attribute: &str, value: Vec<u8>) {
        let known = self
            .attributes
            .iter_mut()
            .find(|(name, _)| name.eq_ignore_ascii_case(attribute));
        match known {
            Some((_, values)) => values.push(value),
            None => self.attributes.push((attribute.to_owned(), vec![value])),
        }
    }

    /// The values of an attribute description; none when it is absent.
    pub fn values(&self, attribute: &str) -> &[Vec<u8>] {
        let found = self
            .attributes
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(attribute));
        found.map_or(&[], |(_, values)| values)
    }

    /// The same as text, sorted.
    pub fn texts(&self, attribute: &str) -> Vec<String> {
        let mut texts: Vec<String> = self
            .values(attribute)
            .iter()
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        texts.sort();
        texts
    }

    /// The only value of an attribute description, as text.
    #[track_caller]
    pub fn text(&self, attribute: &str) -> String {
        let mut texts = self.texts(attribute);
        assert_eq!(texts.len(), 1, "{attribute} of {self:?}");
        texts.remove(0)
    }

    /// Whether the attribute description is present.
    pub fn has(&self, attribute: &str) -> bool {
        self.attributes
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(attribute))
    }
}

/// How an operation ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result code.
    pub code: ResultCode,
    /// The matched name.
    pub matched: String,
    /// The diagnostic message.
    pub diagnostic: String,
    /// Referral URLs.
    pub referrals: Vec<String>,
    /// Name of an extended response, or server credentials' place.
    pub name: Option<String>,
    /// Value of an extended response, or server credentials of a bind.
    pub value: Option<Vec<u8>>,
    /// Response controls: OID and value.
    pub controls: Vec<(String, Option<Vec<u8>>)>,
}

impl Outcome {
    /// Panics unless the result is `success`.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        self.expect(ResultCode::SUCCESS)
    }

    /// Panics unless the result is `code`.
    #[track_caller]
    pub fn expect(self, code: ResultCode) -> Self {
        assert!(self.code == code, "expected {}, got {self:?}", code.name());
        self
    }

    /// The value of a response control.
    pub fn control(&self, oid: &str) -> Option<&[u8]> {
        self.controls
            .iter()
            .find(|(known, _)| known == oid)?
            .1
            .as_deref()
    }
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// In the order they came.
    pub entries: Vec<Entry>,
    /// URLs of continuation references.
    pub references: Vec<Vec<String>>,
    /// The closing result.
    pub outcome: Outcome,
}

impl Found {
    /// Names of the entries, sorted, in lower case.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .entries
            .iter()
            .map(|entry| entry.name.to_lowercase())
            .collect();
        names.sort();
        names
    }

    /// The only entry.
    #[track_caller]
    pub fn only(&self) -> &Entry {
        assert_eq!(self.entries.len(), 1, "{self:?}");
        &self.entries[0]
    }
}

/// One message from the server.
#[derive(Debug, Clone)]
pub enum Event {
    /// A search result entry.
    Entry(Entry),
    /// A continuation reference.
    Reference(Vec<String>),
    /// An intermediate response: its name and value.
    Intermediate(Option<String>, Option<Vec<u8>>),
    /// The end of an operation.
    Done(Outcome),
}

/// One connection.
pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    /// Start of the first message not yet taken. 0 <= taken <= input.len()
    taken: usize,
    next_id: MessageId,
}

impl Client {
    /// Connects; panics when nobody listens.
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap_or_else(|error| panic!("{address}: {error}"))
    }

    /// Connects.
    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client {
            stream,
            input: Vec::new(),
            taken: 0,
            next_id: 1,
        })
    }

    /// The socket, for tests that misbehave.
    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    // --- single messages ----------------------------------------------------------------------

    /// Sends a request and returns its message id.
    pub fn send(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> MessageId {
        self.try_send(request, controls)
            .expect("the server takes the request")
    }

    /// Sends a request, unless the connection is gone.
    pub fn try_send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        let id = self.next_id;
        self.next_id += 1;
        let mut bytes = Vec::new();
        protocol::write_request(&mut bytes, id, request, controls);
        self.stream.write_all(&bytes)?;
        Ok(id)
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Takes the next message. An error of kind `UnexpectedEof` means the server closed.
    pub fn try_receive(&mut self) -> io::Result<(MessageId, Event)> {
        let length = loop {
            let waiting = &self.input[self.taken..];
            match protocol::frame(waiting, MESSAGE_BYTES_MAX) {
                Ok(Some(length)) => break length,
                Ok(None) => self.read_more()?,
                Err(error) => panic!("the server sent no LDAP message: {error:?}"),
            }
        };
        let message = &self.input[self.taken..self.taken + length];
        let decoded = ResponseMessage::decode(message).expect("responses decode");
        let answer = (decoded.id, event(decoded));
        self.taken += length;
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        }
        Ok(answer)
    }

    /// Takes the next message; panics when there is none.
    #[track_caller]
    pub fn receive(&mut self) -> (MessageId, Event) {
        self.try_receive().expect("the server answers")
    }

    /// Takes messages up to the closing one of operation `id`.
    pub fn try_finish(&mut self, id: MessageId) -> io::Result<Found> {
        let mut entries = Vec::new();
        let mut references = Vec::new();
        loop {
            let (of, event) = self.try_receive()?;
            assert_eq!(of, id, "a message of another operation: {event:?}");
            match event {
                Event::Entry(entry) => entries.push(entry),
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

    /// Sends a request and waits for its end.
    #[track_caller]
    pub fn call(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Found {
        let id = self.send(request, controls);
        self.try_finish(id).expect("the server answers")
    }

    /// True once the server has closed the connection; what it said before is thrown away.
    pub fn is_closed_by_server(&mut self) -> bool {
        loop {
            match self.read_more() {
                Ok(()) => self.input.clear(),
                Err(error) => {
                    return !matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    );
                }
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        if self.taken > 0 {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        let mut buffer = [0; 64 << 10];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.input.extend_from_slice(&buffer[..count]);
        Ok(())
    }

    // --- operations ---------------------------------------------------------------------------

    /// A simple bind.
    #[track_caller]
    pub fn bind(&mut self, name: &str, password: &str) -> Outcome {
        let authentication = Authentication::Simple(password.as_bytes());
        let request = BindRequest {
            version: 3,
            name,
            authentication,
        };
        self.call(&Request::Bind(request), &[]).outcome
    }

    /// A search with text filter and attribute selection.
    #[track_caller]
    pub fn search(&mut self, base: &str, scope: Scope, filter: &str, select: &[&str]) -> Found {
        self.search_with(base, scope, filter, select, &[], |_| {})
    }

    /// A search with controls, adjusted by `adjust` before it is sent.
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

    /// Sends a search without waiting for what it finds.
    pub fn send_search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        select: &[&str],
        controls: &[OwnedControl],
        adjust: impl FnOnce(&mut SearchRequest<'_>),
    ) -> MessageId {
        let encoded = protocol::parse_filter(filter).expect("tests write correct filters");
        let mut reader = protocol::ber::Reader::new(&encoded);
        let filter = Filter::decode(&mut reader, 64).expect("what was parsed decodes");
        let mut request = SearchRequest {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter,
            attributes: select.to_vec(),
        };
        adjust(&mut request);
        self.send(&Request::Search(request), controls)
    }

    /// Everything about one entry: user and operational attributes.
    #[track_caller]
    pub fn read(&mut self, name: &str) -> Option<Entry> {
        let scope = Scope::BaseObject;
        let mut found = self.search(name, scope, "(objectClass=*)", &["*", "+"]);
        if found.outcome.code == ResultCode::NO_SUCH_OBJECT {
            return None;
        }
        found.outcome.clone().expect_success();
        found.entries.pop()
    }

    /// Adds an entry.
    #[track_caller]
    pub fn add(&mut self, entry: &Entry) -> Outcome {
        self.add_with(entry, &[])
    }

    /// Adds an entry with controls.
    #[track_caller]
    pub fn add_with(&mut self, entry: &Entry, controls: &[OwnedControl]) -> Outcome {
        let id = self
            .try_send_add(entry, controls)
            .expect("the server takes the request");
        self.try_finish(id).expect("the server answers").outcome
    }

    /// Sends an add without waiting.
    pub fn try_send_add(
        &mut self,
        entry: &Entry,
        controls: &[OwnedControl],
    ) -> io::Result<MessageId> {
        let encoded = Encoded::new(&entry.attributes);
        let request = AddRequest {
            entry: &entry.name,
            attributes: encoded.attributes(),
        };
        self.try_send(&Request::Add(request), controls)
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
        let id = self
            .try_send_modify(name, changes, controls)
            .expect("the server takes it");
        self.try_finish(id).expect("the server answers").outcome
    }

    /// Sends a modify without waiting.
    pub fn try_send_modify(
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
        self.try_send(
            &Request::Modify(ModifyRequest {
                object: name,
                changes,
            }),
            controls,
        )
    }

    /// Deletes an entry.
    #[track_caller]
    pub fn delete(&mut self, name: &str) -> Outcome {
        self.call(&Request::Delete(DeleteRequest { entry: name }), &[])
            .outcome
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
        let request = ModifyDnRequest {
            entry: name,
            new_rdn,
            delete_old_rdn,
            new_superior,
        };
        self.call(&Request::ModifyDn(request), &[]).outcome
    }

    /// Compares an assertion with an entry.
    #[track_caller]
    pub fn compare(&mut self, name: &str, attribute: &str, value: &str) -> Outcome {
        let request = CompareRequest {
            entry: name,
            attribute,
            value: value.as_bytes(),
        };
        self.call(&Request::Compare(request), &[]).outcome
    }

    /// An extended operation.
    #[track_caller]
    pub fn extended(&mut self, name: &str, value: Option<&[u8]>) -> Outcome {
        self.call(&Request::Extended(ExtendedRequest { name, value }), &[])
            .outcome
    }

    /// Who the server thinks this connection is (RFC 4532).
    #[track_caller]
    pub fn who_am_i(&mut self) -> String {
        let outcome = self
            .extended("1.3.6.1.4.1.4203.1.11.3", None)
            .expect_success();
        String::from_utf8(outcome.value.unwrap_or_default()).expect("an authzId is UTF-8")
    }
}

/// One change of a modify request.
#[derive(Debug, Clone)]
pub struct Modification {
    /// Add, delete, replace or increment.
    pub operation: ChangeOperation,
    /// The attribute description.
    pub attribute: String,
    /// The values; may be empty.
    pub values: Vec<Vec<u8>>,
}

impl Modification {
    /// Adds values.
    pub fn add(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Add, attribute, values)
    }

    /// Deletes values, or the attribute when there are none.
    pub fn delete(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Delete, attribute, values)
    }

    /// Replaces all values.
    pub fn replace(attribute: &str, values: &[&str]) -> Self {
        Self::of(ChangeOperation::Replace, attribute, values)
    }

    /// Increments the value (RFC 4525).
    pub fn increment(attribute: &str, by: &str) -> Self {
        Self::of(ChangeOperation::Increment, attribute, &[by])
    }

    fn of(operation: ChangeOperation, attribute: &str, values: &[&str]) -> Self {
        let values = values
            .iter()
            .map(|value| value.as_bytes().to_vec())
            .collect();
        Modification {
            operation,
            attribute: attribute.to_owned(),
            values,
        }
    }
}

/// Attributes in the encoding that requests borrow from.
struct Encoded {
    attributes: Vec<Vec<u8>>,
}

impl Encoded {
    fn new(attributes: &[(String, Vec<Vec<u8>>)]) -> Self {
        let encode = |(description, values): &(String, Vec<Vec<u8>>)| {
            let mut out = Vec::new();
            let values = values.iter().map(Vec::as_slice);
            protocol::ber::put_partial_attribute(&mut out, description, values);
            out
        };
        Encoded {
            attributes: attributes.iter().map(encode).collect(),
        }
    }

    fn attributes(&self) -> Vec<PartialAttribute<'_>> {
        self.attributes
            .iter()
            .map(|bytes| decode_attribute(bytes))
            .collect()
    }
}

fn decode_attribute(bytes: &[u8]) -> PartialAttribute<'_> {
    let mut reader = protocol::ber::Reader::new(bytes);
    PartialAttribute::decode(&mut reader).expect("what was encoded decodes")
}

fn event(message: ResponseMessage<'_>) -> Event {
    let controls: Vec<(String, Option<Vec<u8>>)> = message
        .controls
        .iter()
        .map(|control| (control.oid.to_owned(), control.value.map(<[u8]>::to_vec)))
        .collect();
    let done = |result: LdapResult, name: Option<&str>, value: Option<&[u8]>| {
        Event::Done(Outcome {
            code: result.code,
            matched: result.matched,
            diagnostic: result.diagnostic,
            referrals: result.referrals,
            name: name.map(str::to_owned),
            value: value.map(<[u8]>::to_vec),
            controls: controls.clone(),
        })
    };
    match message.response {
        Response::SearchEntry { name, attributes } => {
            let values = |it: &PartialAttribute<'_>| it.values.iter().map(<[u8]>::to_vec).collect();
            let attributes = attributes
                .iter()
                .map(|it| (it.description.to_owned(), values(it)))
                .collect();
            Event::Entry(Entry {
                name: name.to_owned(),
                attributes,
            })
        }
        Response::SearchReference(urls) => {
            Event::Reference(urls.iter().map(|&url| url.to_owned()).collect())
        }
        Response::Intermediate { name, value } => {
            Event::Intermediate(name.map(str::to_owned), value.map(<[u8]>::to_vec))
        }
        Response::Bind {
            result,
            server_credentials,
        } => done(result, None, server_credentials),
        Response::Extended {
            result,
            name,
            value,
        } => done(result, name, value),
        Response::SearchDone(result)
        | Response::Modify(result)
        | Response::Add(result)
        | Response::Delete(result)
        | Response::ModifyDn(result)
        | Response::Compare(result) => done(result, None, None),
    }
}
