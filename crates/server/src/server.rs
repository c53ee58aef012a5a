//! A running server: threads started, addresses known, stopped in order.

use std::fmt;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use directory::{Directory, Failure, Front, Mailbox};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::acceptor::Acceptor;
use crate::admission::Admission;
use crate::connection_settings::ConnectionSettings;
use crate::inbox::{Handle, Inbox};
use crate::issuers::IssuerKeys;
use crate::limits::ConnectionLimits;
use crate::listener::Listener;
use crate::reload::{Reload, shared};
use crate::resources;
use crate::settings::{Config, Listen};
use crate::thread;
use crate::tls::Certificate;
use crate::warm_up::WarmUp;

/// Serving threads per processor if most of them wait for the disk.
const WAITING_THREADS: usize = 8;

/// Reason why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The directory could not be opened, or a worker could not be created.
    Directory(Failure),
    /// The server cannot listen on an address.
    Listen {
        /// The address.
        listen: Listen,
        /// The error.
        error: io::Error,
    },
    /// The certificate or its key cannot be used.
    Certificate(String),
    /// The keys of an issuer of tokens cannot be read.
    Issuer(String),
    /// The system provided no thread or event loop.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Directory(error) => write!(f, "{error}"),
            StartError::Listen { listen, error } => {
                write!(f, "cannot listen on {listen}: {error}")?;
                f.write_str(&way_out(listen, error.kind()))
            }
            StartError::Certificate(message) | StartError::Issuer(message) => f.write_str(message),
            StartError::System(error) => write!(f, "cannot start the server's threads: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Advice if an address cannot be used; empty if there is none.
fn way_out(listen: &Listen, kind: io::ErrorKind) -> String {
    match (kind, listen) {
        (io::ErrorKind::AddrInUse, _) => {
            "; stop what listens there, or choose another with --listen".to_owned()
        }
        (io::ErrorKind::PermissionDenied, Listen::Tcp { address, .. }) if address.port() < 1024 => {
            "; ports below 1024 need CAP_NET_BIND_SERVICE".to_owned()
        }
        (_, Listen::Unix(path)) => format!("; the socket is to be made as {}", path.display()),
        _ => String::new(),
    }
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    addresses: Vec<Listen>,
    stop: UnixStream,
    admission: Arc<Admission>,
    /// The acceptor thread, which ends last. `None` once a caller waits for it.
    acceptor: Mutex<Option<JoinHandle<()>>>,
}

/// Opens the directory of `config.folder` and serves it.
///
/// # Errors
/// The directory, an address or the certificate cannot be used.
pub fn start(config: Config) -> Result<Server, StartError> {
    let options = config.directory_options();
    let directory = Directory::open(&config.data_folder(), &options);
    start_directory(config, directory.map_err(StartError::Directory)?)
}

/// Serves an open directory, and shuts it down at the end.
///
/// # Errors
/// An address or the certificate cannot be used.
pub fn start_directory(mut config: Config, directory: Directory) -> Result<Server, StartError> {
    if config.threads == 0 {
        let bytes = directory.bytes().map_err(StartError::Directory)?;
        config.threads = serving_threads(bytes, resources::memory_bytes());
    }
    let warm_up = match config.settings.database.warm_up {
        true => Some(WarmUp::start(directory.clone()).map_err(StartError::System)?),
        false => None,
    };
    let certificate = config.tls.as_ref().map(Certificate::load).transpose();
    let certificate = certificate.map_err(StartError::Certificate)?.map(Arc::new);
    let listeners = bind(&config.listeners())?;
    let addresses: Vec<Listen> = listeners.iter().map(|it| it.listen.clone()).collect();
    let admission = Admission::new(connection_limits(&config), &addresses);
    let issuers = IssuerKeys::start(&config.issuers).map_err(StartError::Issuer)?;
    let shared = Arc::new(shared(&config, certificate.clone(), issuers.issuers()));
    let threads = start_threads(&config, &shared, &directory)?;
    let (stop, stopped) = UnixStream::pair().map_err(StartError::System)?;
    let (hangup, hung_up) = UnixStream::pair().map_err(StartError::System)?;
    let signals = match config.heed_signals {
        true => heed_signals(&stop, &hangup).map_err(StartError::System)?,
        false => Vec::new(),
    };
    let reload = reload_of(config, &admission, certificate.clone(), issuers, &threads);
    let (asked, limited) = (Arc::clone(&reload), directory.clone());
    let on_hangup = move || {
        // The error is logged already.
        let _ = asked.run(&|limits, rules| limited.set_limits(limits, rules));
    };
    let acceptor = Acceptor {
        listeners,
        proxies: Arc::clone(&reload.proxies),
        admission: Arc::clone(&admission),
        threads: Arc::clone(&threads.handles),
        certificate,
        stop: stopped,
        hangup: hung_up,
        reload: Box::new(on_hangup),
    };
    let watched = directory.clone();
    let run = move || {
        acceptor.run();
        tracing::info!("stopping");
        threads.stop_and_join();
        if let Some(warm_up) = warm_up {
            warm_up.stop();
        }
        directory.shutdown();
        drop(hangup);
        signals.into_iter().for_each(|it| {
            signal_hook::low_level::unregister(it);
        });
    };
    let acceptor = std::thread::Builder::new()
        .name("accept".to_owned())
        .spawn(run);
    let acceptor = Mutex::new(Some(acceptor.map_err(StartError::System)?));
    watched.set_front(reload as Arc<dyn Front>);
    Ok(Server {
        addresses,
        stop,
        admission,
        acceptor,
    })
}

/// The limits on connections, after raising the limit on open files. Logs them.
fn connection_limits(config: &Config) -> ConnectionLimits {
    let open_files = resources::raise_open_files(config.threads);
    let limits = ConnectionLimits::new(&config.connections, open_files);
    if limits.falls_short() {
        tracing::warn!("{limits}");
    } else {
        tracing::info!("{limits}");
    }
    limits
}

/// Number of serving threads: one for each processor, and more if the data do not fit into memory,
/// because threads then mostly wait for the disk.
fn serving_threads(database_bytes: u64, memory_bytes: u64) -> usize {
    let waiting = match database_bytes > memory_bytes {
        true => WAITING_THREADS,
        false => 1,
    };
    resources::processors().len() * waiting
}

/// Makes SIGTERM and SIGINT write to `stop`, and SIGHUP to `hangup`.
fn heed_signals(stop: &UnixStream, hangup: &UnixStream) -> io::Result<Vec<SigId>> {
    let register = |(signal, pipe): (_, &UnixStream)| {
        signal_hook::low_level::pipe::register(signal, pipe.try_clone()?)
    };
    let pipes = [(SIGTERM, stop), (SIGINT, stop), (SIGHUP, hangup)];
    pipes.into_iter().map(register).collect()
}

fn reload_of(
    config: Config,
    admission: &Arc<Admission>,
    certificate: Option<Arc<Certificate>>,
    issuers: IssuerKeys,
    threads: &Threads,
) -> Arc<Reload> {
    let handles = Arc::clone(&threads.handles);
    let share = move |shared: &Arc<ConnectionSettings>| {
        for it in handles.iter() {
            it.inbox.share(Arc::clone(shared));
        }
    };
    let admission = Arc::clone(admission);
    let share = Box::new(share);
    Arc::new(Reload::new(config, admission, certificate, issuers, share))
}

/// Opens all listeners. A Unix socket needs a file; on a full disk the server goes on without that
/// listener.
fn bind(addresses: &[Listen]) -> Result<Vec<Listener>, StartError> {
    let mut listeners = Vec::with_capacity(addresses.len());
    let mut without = None;
    for listen in addresses {
        match Listener::bind(listen) {
            Ok(listener) => {
                tracing::info!(listen = %listener.listen, "listening");
                listeners.push(listener);
            }
            Err(error) => {
                let listen = listen.clone();
                let is_left_out =
                    matches!(listen, Listen::Unix(_)) && error.kind() == io::ErrorKind::StorageFull;
                let error = StartError::Listen { listen, error };
                match is_left_out {
                    true => without = Some(error),
                    false => return Err(error),
                }
            }
        }
    }
    match without {
        Some(error) if listeners.is_empty() => return Err(error),
        Some(error) => tracing::error!("until the next start: {error}"),
        None => {}
    }
    Ok(listeners)
}

/// Handles of the serving threads, for sending to them and for joining them.
struct Threads {
    handles: Arc<Vec<Handle>>,
    joins: Vec<JoinHandle<()>>,
}

impl Threads {
    fn stop_and_join(self) {
        self.handles.iter().for_each(|it| it.inbox.stop());
        for join in self.joins {
            // A panicked thread has logged it.
            let _ = join.join();
        }
    }
}

fn start_threads(
    config: &Config,
    shared: &Arc<ConnectionSettings>,
    directory: &Directory,
) -> Result<Threads, StartError> {
    let processors = resources::processors();
    let (mut handles, mut joins, mut started) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..config.threads {
        let inbox = Arc::new(Inbox::default());
        let load = Arc::new(AtomicUsize::new(0));
        let (said, heard) = std::sync::mpsc::channel();
        let pinned = config
            .settings
            .threads
            .pinned
            .then(|| processors[at % processors.len()]);
        let (own, shared, directory) = (Arc::clone(&inbox), Arc::clone(shared), directory.clone());
        let tls = config.tls.is_some();
        let run = move || {
            if let Some(processor) = pinned {
                resources::pin(processor);
            }
            // Created on its own thread, which a worker never leaves.
            match directory.worker(Arc::clone(&own) as Arc<dyn Mailbox>) {
                Ok(mut worker) => {
                    worker.offer_tls(tls);
                    let _ = said.send(Ok(()));
                    if let Err(error) = thread::serve(worker, &own, shared) {
                        tracing::error!(%error, "serving thread ended");
                    }
                }
                Err(error) => drop(said.send(Err(StartError::Directory(error)))),
            }
        };
        let spawned = std::thread::Builder::new()
            .name(format!("serve-{at}"))
            .spawn(run);
        handles.push(Handle { inbox, load });
        started.push(heard);
        joins.push(spawned.map_err(StartError::System)?);
    }
    let threads = Threads {
        handles: Arc::new(handles),
        joins,
    };
    let failed = started.into_iter().find_map(|it| it.recv().ok()?.err());
    match failed {
        None => Ok(threads),
        Some(error) => {
            threads.stop_and_join();
            Err(error)
        }
    }
}

impl Server {
    /// The addresses in the configured order, with the ports chosen by the system.
    pub fn addresses(&self) -> &[Listen] {
        &self.addresses
    }

    /// The limits on connections, which print as text.
    pub fn limits(&self) -> ConnectionLimits {
        self.admission.limits()
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.admission.total()
    }

    /// Waits until the server has stopped, by a signal or [`Server::stop`].
    pub fn wait(&self) {
        let acceptor = self.acceptor().take();
        if let Some(acceptor) = acceptor {
            // A panicked thread has logged it.
            let _ = acceptor.join();
        }
    }

    /// Stops: accepts no more connections, completes operations, sends a notice to every client,
    /// closes. Returns when all is done.
    pub fn stop(&self) {
        // Fails if the acceptor has ended, and the server with it.
        let _ = (&self.stop).write_all(b"stop");
        self.wait();
    }

    fn acceptor(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.acceptor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
pub(crate) mod tests;
