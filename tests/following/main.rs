//! Searches that follow changes: content synchronisation (RFC 4533) and persistent search, over the
//! wire, with Debian's tools, and with Debian's slapd as a replica.

mod persistent;
mod replica;
mod stay;
mod sync;
mod tools;

use kit::following::{ALL, Asked, Said, cookie, next, short, sync, until};
