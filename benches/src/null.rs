//! The floor of sockets and framing: an epoll loop that answers every request from a constant.
//!
//! No directory, no decoding beyond what an answer needs: message id, operation, and for a search
//! whether it asks for attributes. What a server needs beyond this is its own.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use protocol::ber::{self, Reader};
use protocol::request::tag as request;
use protocol::response::tag as response;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const READ_BYTES: usize = 256 << 10;
const MESSAGE_BYTES_MAX: usize = 16 << 20;
const LISTENER: u64 = u64::MAX;
const SUCCESS: u8 = 0;
const COMPARE_TRUE: u8 = 6;

/// The parts that answers are made of.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Name of the entry that every search but a base search finds.
    name: Vec<u8>,
    /// Its attributes, encoded, for searches that do not ask for `1.1`.
    attributes: Vec<u8>,
}

impl Answers {
    /// Answers with an entry of this name and a value of so many octets.
    pub fn new(name: &str, value_octets: usize) -> Answers {
        let mut set = Vec::new();
        ber::put_octets(&mut set, OCTET_STRING, &vec![b'x'; value_octets]);
        let mut attribute = Vec::new();
        ber::put_octets(&mut attribute, OCTET_STRING, b"description");
        ber::put_octets(&mut attribute, 0x31, &set);
        let mut attributes = Vec::new();
        ber::put_octets(&mut attributes, SEQUENCE, &attribute);
        Answers {
            name: name.as_bytes().to_vec(),
            attributes,
        }
    }

    /// Appends the answers to one request; false when the connection should be closed.
    pub fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((id, operation, content)) = parts(message) else {
            return false;
        };
        let (tag, code) = match operation {
            request::SEARCH => {
                self.put_entry(id, content, out);
                (response::SEARCH_DONE, SUCCESS)
            }
            request::BIND => (response::BIND, SUCCESS),
            request::COMPARE => (response::COMPARE, COMPARE_TRUE),
            request::MODIFY => (response::MODIFY, SUCCESS),
            request::ADD => (response::ADD, SUCCESS),
            request::DELETE => (response::DELETE, SUCCESS),
            request::MODIFY_DN => (response::MODIFY_DN, SUCCESS),
            _ => return false,
        };
        ber::put_header(out, SEQUENCE, 2 + id.len() + 9);
        ber::put_octets(out, INTEGER, id);
        out.extend_from_slice(&[tag, 7, 0x0a, 1, code, 4, 0, 4, 0]);
        true
    }

    fn put_entry(&self, id: &[u8], search: &[u8], out: &mut Vec<u8>) {
        let mut reader = Reader::new(search);
        let base = reader.expect(OCTET_STRING).unwrap_or_default();
        let is_base = reader.expect(0x0a).is_ok_and(|scope| scope == [0]);
        let name = if is_base { base } else { &self.name };
        let attributes = if search.ends_with(b"\x04\x031.1") {
            &[][..]
        } else {
            &self.attributes
        };
        let whole = |length: usize| ber::header_length(length) + length;
        let content = whole(name.len()) + whole(attributes.len());
        ber::put_header(out, SEQUENCE, 2 + id.len() + whole(content));
        ber::put_octets(out, INTEGER, id);
        ber::put_header(out, response::SEARCH_ENTRY, content);
        ber::put_octets(out, OCTET_STRING, name);
        ber::put_octets(out, SEQUENCE, attributes);
    }
}

/// Message id, operation and its content.
fn parts(message: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let mut body = Reader::new(message).nested(SEQUENCE).ok()?;
    let id = body.expect(INTEGER).ok()?;
    let (operation, content) = body.element().ok()?;
    Some((id, operation, content))
}

struct Connection {
    stream: TcpStream,
    partial: Vec<u8>,
    out: Vec<u8>,
    sent: usize,
    blocked: bool,
}

/// Connections by number, and the numbers that are free.
#[derive(Default)]
struct Connections {
    all: Vec<Option<Connection>>,
    free: Vec<usize>,
}

/// Serves until the process ends.
pub fn serve(listener: &TcpListener, answers: &Answers) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    // As long a queue as Pando's; the kernel lowers it to its own limit.
    rustix::net::listen(listener, 4096)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(
        &epoll,
        listener,
        EventData::new_u64(LISTENER),
        EventFlags::IN,
    )?;
    let mut connections = Connections::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut events = Vec::with_capacity(1024);
    loop {
        events.clear();
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = event.data.u64();
            if number == LISTENER {
                accept(listener, &epoll, &mut connections)?;
                continue;
            }
            let number = number as usize;
            let Some(connection) = connections.all.get_mut(number).and_then(Option::as_mut) else {
                continue;
            };
            let open = connection.serve(answers, &mut buffer).unwrap_or(false)
                && connection.flush(&epoll, number).is_ok();
            if !open {
                connections.all[number] = None;
                connections.free.push(number);
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    epoll: &OwnedFd,
    connections: &mut Connections,
) -> io::Result<()> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let number = connections.free.pop().unwrap_or_else(|| {
            connections.all.push(None);
            connections.all.len() - 1
        });
        epoll::add(
            epoll,
            &stream,
            EventData::new_u64(number as u64),
            EventFlags::IN,
        )?;
        let (partial, out) = (Vec::new(), Vec::new());
        let connection = Connection {
            stream,
            partial,
            out,
            sent: 0,
            blocked: false,
        };
        connections.all[number] = Some(connection);
    }
}

impl Connection {
    /// Reads once and answers; false at the end of the connection.
    fn serve(&mut self, answers: &Answers, buffer: &mut [u8]) -> io::Result<bool> {
        let count = match (&self.stream).read(buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        if self.partial.is_empty() {
            let Some(taken) = answer_all(&buffer[..count], answers, &mut self.out) else {
                return Ok(false);
            };
            self.partial.extend_from_slice(&buffer[taken..count]);
            return Ok(true);
        }
        self.partial.extend_from_slice(&buffer[..count]);
        let Some(taken) = answer_all(&self.partial, answers, &mut self.out) else {
            return Ok(false);
        };
        self.partial.drain(..taken);
        Ok(true)
    }

    fn flush(&mut self, epoll: &OwnedFd, number: usize) -> io::Result<()> {
        let mut blocked = false;
        while self.sent < self.out.len() {
            match (&self.stream).write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    blocked = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if !blocked {
            self.out.clear();
            self.sent = 0;
        }
        if blocked != self.blocked {
            self.blocked = blocked;
            // While the client does not read, nothing more is read from it.
            let flags = if blocked {
                EventFlags::OUT
            } else {
                EventFlags::IN
            };
            epoll::modify(
                epoll,
                &self.stream,
                EventData::new_u64(number as u64),
                flags,
            )?;
        }
        Ok(())
    }
}

/// Answers all whole messages; how many octets they were. None: close the connection.
fn answer_all(octets: &[u8], answers: &Answers, out: &mut Vec<u8>) -> Option<usize> {
    let mut taken = 0;
    while let Some(length) = protocol::frame(&octets[taken..], MESSAGE_BYTES_MAX).ok()? {
        if !answers.answer(&octets[taken..taken + length], out) {
            return None;
        }
        taken += length;
    }
    Some(taken)
}
