//! Sockets, threads, TLS, settings and logging: everything that waits.
//!
//! [`start`] opens a node's directory and serves it; [`Server`] names its addresses and stops it.
//! One acceptor assigns each socket to the serving thread with the fewest connections; a serving
//! thread owns its connections and its `directory::Worker` and shares only its inbox.

mod acceptor;
mod admission;
mod bundle;
mod connection;
mod connection_settings;
mod deadline;
mod desk;
mod followers;
mod inbox;
mod input;
mod issuers;
#[cfg(test)]
mod kit;
mod limits;
mod linger;
mod listener;
mod load;
mod log_queue;
pub mod logging;
mod output;
mod password_lists;
mod proxied;
mod refusals;
mod refused;
mod reload;
mod resources;
mod round;
mod saslauthd;
mod server;
pub mod settings;
mod slots;
mod socket;
mod socket_connection;
mod stamp;
mod thread;
mod tls;
mod turns;
mod warm_up;

pub use limits::ConnectionLimits;
pub use resources::{forbid_core_dumps, memory_bytes};
pub use server::{Server, StartError, start, start_directory};
pub use settings::{Config, Listen, LogFormat, Overrides, SettingsError};
