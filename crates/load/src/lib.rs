//! Data and load for measuring directories: templates, value patterns, load jobs, reports.
//!
//! - [`template`]: the MakeLDIF template language; any range of its entries can be made again
//!   by any number of threads.
//! - [`output`]: generated entries as LDIF or BER AddRequests, with DN, bind and filter lists.
//! - [`pattern`]: value patterns such as `uid=user.[1-1000000],ou=oracle,dc=com`.
//! - [`mod@bench`]: load jobs against any LDAP server, with latency histograms and reports.
//!
//! **Invariant:** this crate is a client. It knows nothing of the server's internals.

pub mod bench;
pub mod fuzz;
mod number;
pub mod output;
pub mod pattern;
mod random;
pub mod template;
