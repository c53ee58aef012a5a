//! Connects the administrative subcommands to a node: over its ldapi socket while it is served,
//! else by opening its folder. Either way they send LDAP requests and read LDAP responses.

mod transaction;

use crate::node_folder::{SOCKET_FILE, data_folder};
use crate::reach::Target;
use crate::report::Problem;
use directory::{Directory, Options};
use local::{LocalCall, LocalClient};
use protocol::{
    Authentication, BindRequest, Change, ChangeOperation, LdapResult, MessageId, ModifyRequest,
    OwnedAttribute, OwnedControl, Request, Response, ResponseMessage, ResultCode, SearchRequest,
    frame, write_request,
};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Maximum time that a remote server may take for a response.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// Maximum length of a response in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A session with a node, as its administrator.
pub struct Channel {
    way: Way,
}

enum Way {
    Online(Online),
    Offline(Box<Offline>),
}

/// The stream to a server.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

struct Online {
    stream: Box<dyn Stream>,
    last_id: MessageId,
    /// Bytes read and not yet taken.
    buffer: Vec<u8>,
}

struct Offline {
    directory: Directory,
    client: LocalClient,
    /// Writes whose results are not yet received, in the order of sending.
    sent: VecDeque<LocalCall>,
}

impl Channel {
    /// Connects to the node in a folder and authenticates as the owner of the process.
    pub fn open(dir: &Path) -> Result<Channel, Problem> {
        match Channel::served(dir)? {
            Some(channel) => Ok(channel),
            None => Channel::offline(dir, &Options::default()),
        }
    }

    /// Opens the node in a folder, which is not served, for the changes with which it begins a
    /// cluster. It may come from a backup of another one.
    pub fn found(dir: &Path) -> Result<Channel, Problem> {
        let options = Options {
            leaves_cluster: true,
            ..Options::default()
        };
        Channel::offline(dir, &options)
    }

    fn offline(dir: &Path, options: &Options) -> Result<Channel, Problem> {
        let offline = Offline::open(&data_folder(dir)?, options)?;
        let way = Way::Offline(Box::new(offline));
        Ok(Channel { way })
    }

    /// Connects to the node in a folder if it is served; else `None`.
    pub fn served(dir: &Path) -> Result<Option<Channel>, Problem> {
        data_folder(dir)?;
        let stream = UnixStream::connect(dir.join(SOCKET_FILE)).ok();
        let way = stream.map(Way::online);
        way.map(Channel::as_owner).transpose()
    }

    fn as_owner(way: Way) -> Result<Channel, Problem> {
        let mut channel = Channel { way };
        let bind = Request::Bind(BindRequest {
            version: 3,
            name: "",
            authentication: Authentication::Sasl {
                mechanism: "EXTERNAL",
                credentials: None,
            },
        });
        channel.succeed(&bind)?;
        Ok(channel)
    }

    /// Connects to a remote server, and binds if a name is given.
    pub fn connect(target: &Target, name: &str, password: &[u8]) -> Result<Channel, Problem> {
        let mut transport = target.connect()?;
        transport.limit(ANSWER_PATIENCE)?;
        let mut channel = Channel {
            way: Way::online(transport),
        };
        if !name.is_empty() {
            channel.succeed(&Request::Bind(BindRequest {
                version: 3,
                name,
                authentication: Authentication::Simple(password),
            }))?;
        }
        Ok(channel)
    }

    /// Whether the node in a folder is served.
    pub fn is_served(dir: &Path) -> bool {
        UnixStream::connect(dir.join(SOCKET_FILE)).is_ok()
    }

    /// Sends a request that must succeed.
    pub fn succeed(&mut self, request: &Request<'_>) -> Result<(), Problem> {
        let result = self.result(request)?;
        if result.code == ResultCode::SUCCESS {
            return Ok(());
        }
        Err(match subject(request) {
            "" => refused(&result),
            name => refused(&result).about(name),
        })
    }

    /// Changes one attribute of an entry and returns the result.
    pub fn modify(
        &mut self,
        object: &str,
        operation: ChangeOperation,
        attribute: &OwnedAttribute,
    ) -> Result<LdapResult, Problem> {
        self.result(&Request::Modify(ModifyRequest {
            object,
            changes: vec![Change {
                operation,
                attribute: attribute.as_partial(),
            }],
        }))
    }

    /// Changes one attribute of an entry, which must succeed.
    pub fn must_modify(
        &mut self,
        object: &str,
        operation: ChangeOperation,
        attribute: &OwnedAttribute,
    ) -> Result<(), Problem> {
        let result = self.modify(object, operation, attribute)?;
        match result.code {
            ResultCode::SUCCESS => Ok(()),
            _ => Err(refused(&result).about(object)),
        }
    }

    /// Sends a request and returns its final result.
    pub fn result(&mut self, request: &Request<'_>) -> Result<LdapResult, Problem> {
        self.result_with(request, &[])
    }

    /// Sends a request with controls and returns its final result.
    pub fn result_with(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<LdapResult, Problem> {
        let answers = self.call_with(request, controls)?;
        let last = answers.last().map(Vec::as_slice).unwrap_or_default();
        let message = ResponseMessage::decode(last).map_err(Problem::failed)?;
        let result = message.response.result().cloned();
        result.ok_or_else(|| Problem::failed("the server's last response has no result code"))
    }

    /// The first visible value of an attribute of one entry; `None` if there is none.
    pub fn first_value(&mut self, base: &str, attribute: &str) -> Result<Option<String>, Problem> {
        Ok(self.values(base, attribute)?.into_iter().next())
    }

    /// The visible values of an attribute of one entry.
    pub fn values(&mut self, base: &str, attribute: &str) -> Result<Vec<String>, Problem> {
        let answers = self.call(&Request::Search(SearchRequest {
            attributes: vec![attribute],
            ..SearchRequest::of_entry(base)
        }))?;
        let mut all = Vec::new();
        for answer in &answers {
            let message = ResponseMessage::decode(answer).map_err(Problem::failed)?;
            match message.response {
                Response::SearchEntry { attributes, .. } => {
                    let values = attributes.iter().flat_map(|it| it.values);
                    all.extend(values.map(|it| String::from_utf8_lossy(it).into_owned()));
                }
                // A server that hides the entry answers normally; a server that cannot answer has a
                // problem.
                Response::SearchDone(result) if is_trouble(result.code) => {
                    return Err(refused(&result));
                }
                _ => {}
            }
        }
        Ok(all)
    }

    /// Sends a request and returns all responses to it, the final one last.
    pub fn call(&mut self, request: &Request<'_>) -> Result<Vec<Vec<u8>>, Problem> {
        self.call_with(request, &[])
    }

    /// Like [`call`](Self::call), for a request with controls.
    pub fn call_with(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Vec<Vec<u8>>, Problem> {
        match &mut self.way {
            Way::Online(online) => online.call(request, controls),
            Way::Offline(offline) => offline.call(request, controls),
        }
    }

    /// Whether the node is served, and other channels can be opened beside this one.
    pub fn is_online(&self) -> bool {
        matches!(self.way, Way::Online(_))
    }

    /// Sends a write without waiting for its result, so that many become durable together. Only
    /// reads may be called until all results are received.
    pub fn send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<MessageId, Problem> {
        match &mut self.way {
            Way::Online(online) => online.send(request, controls),
            Way::Offline(offline) => offline.send(request, controls),
        }
    }

    /// The next result of a sent write; results come in any order.
    pub fn receive(&mut self) -> Result<(MessageId, LdapResult), Problem> {
        let answer = match &mut self.way {
            Way::Online(online) => online.next()?,
            Way::Offline(offline) => offline.next()?,
        };
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        let id = message.id;
        match message.response.result() {
            Some(result) => Ok((id, result.clone())),
            None => Err(Problem::failed("the server's response has no result code")),
        }
    }
}

impl Way {
    fn online(stream: impl Stream + 'static) -> Way {
        Way::Online(Online {
            stream: Box::new(stream),
            last_id: 0,
            buffer: Vec::new(),
        })
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Way::Offline(offline) = &self.way {
            offline.directory.shutdown();
        }
    }
}

/// A refusal as the problem shown to a user.
pub fn refused(result: &LdapResult) -> Problem {
    let name = result.code.name();
    match result.diagnostic.as_str() {
        "" => Problem::failed(name),
        text => Problem::failed(format_args!("{text} ({name})")),
    }
}

/// DN of the entry that a request names; empty if the request names none.
fn subject<'r>(request: &Request<'r>) -> &'r str {
    match request {
        Request::Bind(it) => it.name,
        Request::Modify(it) => it.object,
        Request::Add(it) => it.entry,
        Request::Delete(it) => it.entry,
        Request::ModifyDn(it) => it.entry,
        Request::Compare(it) => it.entry,
        Request::Search(_) | Request::Unbind | Request::Abandon(_) | Request::Extended(_) => "",
    }
}

/// Whether a result code means that the server has a problem.
fn is_trouble(code: ResultCode) -> bool {
    matches!(
        code,
        ResultCode::OTHER | ResultCode::UNAVAILABLE | ResultCode::OPERATIONS_ERROR
    )
}

impl Online {
    fn send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<MessageId, Problem> {
        self.last_id += 1;
        let mut bytes = Vec::new();
        write_request(&mut bytes, self.last_id, request, controls);
        self.stream.write_all(&bytes)?;
        Ok(self.last_id)
    }

    fn call(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Vec<Vec<u8>>, Problem> {
        self.send(request, controls)?;
        let mut answers = Vec::new();
        loop {
            self.read_more()?;
            take_messages(&mut self.buffer, &mut answers)?;
            let last = answers.last().map(Vec::as_slice).unwrap_or_default();
            if let Ok(message) = ResponseMessage::decode(last)
                && message.response.result().is_some()
            {
                return Ok(answers);
            }
        }
    }

    fn next(&mut self) -> Result<Vec<u8>, Problem> {
        loop {
            if let Some(message) = take_message(&mut self.buffer)? {
                return Ok(message);
            }
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> Result<(), Problem> {
        let mut chunk = vec![0; 64 << 10];
        let count = self.stream.read(&mut chunk)?;
        if count == 0 {
            return Err(Problem::failed("the server closed the connection"));
        }
        self.buffer.extend_from_slice(&chunk[..count]);
        Ok(())
    }
}

/// Moves whole messages from a buffer to a list.
fn take_messages(buffer: &mut Vec<u8>, messages: &mut Vec<Vec<u8>>) -> Result<(), Problem> {
    let mut at = 0;
    loop {
        let rest = buffer.get(at..).unwrap_or_default();
        let Some(length) = frame(rest, ANSWER_BYTES_MAX).map_err(Problem::failed)? else {
            break;
        };
        messages.push(rest[..length].to_vec());
        at += length;
    }
    buffer.drain(..at);
    Ok(())
}

/// The first message; `None` if it is incomplete.
fn take_message(buffer: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Problem> {
    let length = frame(buffer, ANSWER_BYTES_MAX).map_err(Problem::failed)?;
    Ok(length.map(|length| buffer.drain(..length).collect()))
}

impl Offline {
    fn open(data: &Path, options: &Options) -> Result<Offline, Problem> {
        let directory = Directory::open(data, options).map_err(Problem::failed)?;
        // A user who may open the folder may administer the node. The writer runs in this process,
        // so a write has no time limit.
        let client = LocalClient::as_owner(&directory, Duration::MAX);
        let client = client.inspect_err(|_| directory.shutdown());
        Ok(Offline {
            client: client.map_err(Problem::failed)?,
            directory,
            sent: VecDeque::new(),
        })
    }

    fn send(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<MessageId, Problem> {
        let sent = self.client.begin(request, controls);
        let sent = sent.map_err(Problem::failed)?;
        let id = sent.id();
        self.sent.push_back(sent);
        Ok(id)
    }

    /// The next response to a sent write.
    fn next(&mut self) -> Result<Vec<u8>, Problem> {
        let sent = self.sent.pop_front();
        let mut sent = sent.ok_or_else(|| Problem::failed("all writes are answered"))?;
        self.client.finish(&mut sent).map_err(Problem::failed)?;
        let first = take_message(&mut sent.into_responses())?;
        first.ok_or_else(|| Problem::failed("a write has no response"))
    }

    fn call(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> Result<Vec<Vec<u8>>, Problem> {
        let call = self.client.begin(request, controls);
        let mut call = call.map_err(Problem::failed)?;
        self.client.finish(&mut call).map_err(Problem::failed)?;
        let mut answers = Vec::new();
        take_messages(&mut call.into_responses(), &mut answers)?;
        Ok(answers)
    }
}
