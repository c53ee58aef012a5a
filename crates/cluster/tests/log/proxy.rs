//! A connection to etcd that a test can spoil: questions or replies are dropped or changed, or
//! nobody listens.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A text, and what takes its place.
struct Replaced {
    text: Vec<u8>,
    by: Vec<u8>,
}

/// A proxy in front of a port.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    to: u16,
    /// Bytes from etcd are read and thrown away.
    is_deaf: AtomicBool,
    /// Bytes from clients are read and thrown away.
    is_mute: AtomicBool,
    /// A text in replies that is replaced by another one of its length.
    replaced: Mutex<Option<Replaced>>,
    /// Connections are ended at once.
    is_closed: AtomicBool,
    /// Bytes that came from clients.
    asked: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// A proxy that lets everything through.
    pub(crate) fn before(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            to,
            is_deaf: AtomicBool::new(false),
            is_mute: AtomicBool::new(false),
            replaced: Mutex::default(),
            is_closed: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            connections: Mutex::default(),
        });
        let its = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                serve(&its, client);
            }
        });
        Proxy { port, state }
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Drops replies, or passes them on again; connections that lost bytes are ended then.
    pub(crate) fn set_deaf(&self, deaf: bool) {
        self.state.is_deaf.store(deaf, Ordering::SeqCst);
        if !deaf {
            self.cut();
        }
    }

    /// Drops questions, or passes them on again; connections that lost bytes are ended then.
    pub(crate) fn set_mute(&self, mute: bool) {
        self.state.is_mute.store(mute, Ordering::SeqCst);
        if !mute {
            self.cut();
        }
    }

    /// Replaces a text in replies by another one of its length.
    pub(crate) fn replace(&self, text: &str, by: &str) {
        assert_eq!(text.len(), by.len());
        let (text, by) = (text.into(), by.into());
        *self.state.replaced.lock().unwrap() = Some(Replaced { text, by });
    }

    /// Refuses connections and ends those there are, or lets them through again.
    pub(crate) fn set_closed(&self, closed: bool) {
        self.state.is_closed.store(closed, Ordering::SeqCst);
        self.cut();
    }

    /// Bytes that clients have sent so far.
    pub(crate) fn asked(&self) -> u64 {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Ends all connections.
    fn cut(&self) {
        for connection in self.state.connections.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    /// Bytes of a reply as a client gets them. A text over the end of a piece is missed.
    fn changed(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if let Some(Replaced { text, by }) = &*self.replaced.lock().unwrap() {
            for at in 0..bytes.len().saturating_sub(text.len() - 1) {
                if bytes[at..].starts_with(text) {
                    bytes[at..at + by.len()].copy_from_slice(by);
                }
            }
        }
        bytes
    }
}

/// Passes the bytes of a connection on, both ways.
fn serve(state: &Arc<State>, client: TcpStream) {
    if state.is_closed.load(Ordering::SeqCst) {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.to)) else {
        return;
    };
    let mut connections = state.connections.lock().unwrap();
    for connection in [&client, &server] {
        connections.push(connection.try_clone().unwrap());
    }
    drop(connections);
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    let its = state.clone();
    std::thread::spawn(move || {
        pass(&mut from_client, |bytes| {
            its.asked.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            its.is_mute.load(Ordering::SeqCst) || to_server.write_all(bytes).is_ok()
        });
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client) = (server, client);
    let its = state.clone();
    std::thread::spawn(move || {
        pass(&mut from_server, |bytes| {
            let is_deaf = its.is_deaf.load(Ordering::SeqCst);
            is_deaf || to_client.write_all(&its.changed(bytes)).is_ok()
        });
        let _ = to_client.shutdown(Shutdown::Both);
    });
}

/// Gives all bytes of a connection to `take`, until it does not want more.
fn pass(from: &mut TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                if !take(&buffer[..read]) {
                    return;
                }
            }
        }
    }
}
