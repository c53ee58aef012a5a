//! A connection to etcd that a test can spoil: replies are dropped, or nobody listens.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A proxy in front of a port.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    to: u16,
    /// Bytes from etcd are read and thrown away.
    is_deaf: AtomicBool,
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
            to_server.write_all(bytes).is_ok()
        });
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let (mut from_server, mut to_client) = (server, client);
    let its = state.clone();
    std::thread::spawn(move || {
        pass(&mut from_server, |bytes| {
            its.is_deaf.load(Ordering::SeqCst) || to_client.write_all(bytes).is_ok()
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
