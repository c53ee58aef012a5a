//! The running service: one thread with a small runtime of its own.

use super::accept::{self, Door};
use super::node::PeerNode;
use super::{routes, tls};
use crate::address::Address;
use crate::identity::Identity;
use crate::snapshot::{Donor, KEPT, SNAPSHOTS};
use crate::trouble::Trouble;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// The service of a node. Dropping it ends it, and waits until its thread has ended.
pub struct Service {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    donor: Arc<Donor>,
}

/// How a service works, beside what the node's identity says.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Folder of the copies for joining nodes, on the file system of the data.
    pub snapshots: PathBuf,
    /// How long a copy is kept after its last use.
    pub kept: Duration,
}

impl ServiceOptions {
    /// The options of a node with this identity.
    pub fn of(identity: &Identity) -> ServiceOptions {
        let dir = identity.folder.parent().unwrap_or(&identity.folder);
        ServiceOptions {
            snapshots: dir.join(SNAPSHOTS),
            kept: KEPT,
        }
    }
}

/// Listens at a node's address.
///
/// # Errors
/// The host has no address of this machine, or the port is taken.
pub fn listen(identity: &Identity) -> Result<TcpListener, Trouble> {
    let address = &identity.membership.address;
    bind(address).map_err(|error| {
        Trouble::Refused(format!(
            "{address}: this node cannot listen there: {error}; free the port, or change \
             \"address\" in {}",
            identity
                .folder
                .join(crate::identity::CLUSTER_FILE)
                .display()
        ))
    })
}

fn bind(address: &Address) -> io::Result<TcpListener> {
    let mut last = io::Error::other("the name has no address");
    for address in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Service {
    /// Starts the service of a node at its address.
    ///
    /// # Errors
    /// The address cannot be listened at, or the identity's files cannot be used.
    pub fn start(identity: &Identity, node: Arc<dyn PeerNode>) -> Result<Service, Trouble> {
        let options = ServiceOptions::of(identity);
        Service::start_on(listen(identity)?, identity, node, &options)
    }

    /// Starts the service on a socket that listens already.
    ///
    /// # Errors
    /// The identity's files cannot be used, or the system gives no thread.
    pub fn start_on(
        listener: TcpListener,
        identity: &Identity,
        node: Arc<dyn PeerNode>,
        options: &ServiceOptions,
    ) -> Result<Service, Trouble> {
        let failed = |error: io::Error| Trouble::internal("starting the service for peers", error);
        let address = listener.local_addr().map_err(failed)?;
        let tls = tls::server(identity)?;
        let donor = Donor::open(options.snapshots.clone(), Arc::clone(&node), options.kept)?;
        let donor = Arc::new(donor);
        let door = Door {
            tls,
            routes: routes::routes(identity, node, Arc::clone(&donor))?,
            donor: Arc::clone(&donor),
            kept: options.kept,
        };
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .thread_name("peer-files")
            .build()
            .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let thread = std::thread::Builder::new().name("peer".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(accept::run(listener, door, stopped));
            runtime.shutdown_background();
        });
        Ok(Service {
            address,
            stop,
            thread: Some(thread.map_err(failed)?),
            donor,
        })
    }

    /// The address that the service listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A service that panicked has ended, too.
            let _ = thread.join();
        }
        self.donor.end();
    }
}
