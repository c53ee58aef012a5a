//! The identity that a layer below LDAP proves (RFC 4422 appendix A): the operating system that of
//! the process at the other end of a Unix socket, TLS that of the holder of a certificate.

use crate::peer::Peer;
use policy::mapping::{Kind, Outside};
use protocol::ResultCode;
use state::stop::Stop;

/// The client's identity; `None` if nothing tells it.
pub(super) fn identity_of(peer: &Peer) -> Result<Option<Outside<'_>>, Stop> {
    match (peer.unix_uid, &peer.certificate) {
        (Some(uid), _) => Ok(Some(Outside::of(Kind::Unix).with("uid", uid.to_string()))),
        (None, Some(certificate)) => {
            if let Err(why) = (certificate.check)() {
                return Stop::refuse(
                    ResultCode::INVALID_CREDENTIALS,
                    format!("EXTERNAL: the certificate is not accepted any more: {why}"),
                );
            }
            Ok(Some(certificate.identity.clone()))
        }
        (None, None) => Ok(None),
    }
}

/// The user id of this process: the owner of its files in `/proc`.
pub(super) fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |it| it.uid())
}
