//! A client of few lines: requests over one connection, answers in order.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use protocol::{
    Authentication, BindRequest, LdapResult, MessageId, OwnedControl, Request, ResponseMessage,
    ResultCode, frame, write_request,
};

use crate::subject::{ADMINISTRATOR, PASSWORD};

/// Longer messages are none that anybody here asks for.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// A connection with somebody bound.
pub struct Client {
    stream: TcpStream,
    input: Vec<u8>,
    last: MessageId,
}

impl Client {
    /// Connects to a server and binds as the administrator.
    pub fn bound(url: &str) -> io::Result<Client> {
        Client::bound_as(url, ADMINISTRATOR, PASSWORD)
    }

    /// Connects to a server and binds.
    pub fn bound_as(url: &str, name: &str, password: &str) -> io::Result<Client> {
        let stream = TcpStream::connect(url.trim_start_matches("ldap://"))?;
        stream.set_nodelay(true)?;
        let mut client = Client {
            stream,
            input: Vec::new(),
            last: 0,
        };
        let bind = Request::Bind(BindRequest {
            version: 3,
            name,
            authentication: Authentication::Simple(password.as_bytes()),
        });
        client.call(&bind, &[])?;
        Ok(client)
    }

    /// How long [`Client::receive`] waits for a part of an answer; without a limit until this is
    /// called.
    pub fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(time))
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a request without waiting for its answer.
    pub fn send(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> io::Result<()> {
        self.last += 1;
        let mut message = Vec::new();
        write_request(&mut message, self.last, request, controls);
        self.stream.write_all(&message)
    }

    /// The next message, whole.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 1 << 16];
        loop {
            let whole = frame(&self.input, MESSAGE_BYTES_MAX);
            if let Some(length) = whole.map_err(|error| io::Error::other(error.to_string()))? {
                let rest = self.input.split_off(length);
                return Ok(std::mem::replace(&mut self.input, rest));
            }
            match self.stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.input.extend_from_slice(&buffer[..count]),
            }
        }
    }

    /// Sends a request and returns its answers, of which the last is success.
    pub fn call(
        &mut self,
        request: &Request<'_>,
        controls: &[OwnedControl],
    ) -> io::Result<Vec<Vec<u8>>> {
        self.send(request, controls)?;
        let mut answers = Vec::new();
        loop {
            let answer = self.receive()?;
            let is_last = result_of(&answer)?.is_some();
            answers.push(answer);
            if is_last {
                return Ok(answers);
            }
        }
    }

    /// Takes the answer of a request that has one only, which is success.
    pub fn acknowledged(&mut self) -> io::Result<()> {
        let answer = self.receive()?;
        match result_of(&answer)? {
            Some(_) => Ok(()),
            None => Err(io::Error::other("expected a result")),
        }
    }
}

/// The result in a message; an error unless it is success, and nothing where there is none.
fn result_of(message: &[u8]) -> io::Result<Option<LdapResult>> {
    let message = decoded(message)?;
    match message.response.result() {
        Some(it) if it.code != ResultCode::SUCCESS => {
            let text = format!("refused: {}: {}", it.code, it.diagnostic);
            Err(io::Error::other(text))
        }
        result => Ok(result.cloned()),
    }
}

/// Decodes a message.
pub fn decoded(message: &[u8]) -> io::Result<ResponseMessage<'_>> {
    ResponseMessage::decode(message).map_err(|error| io::Error::other(error.to_string()))
}
