//! The identity that a layer below LDAP proves (RFC 4422 appendix A): the operating system that of
//! the process at the other end of a Unix socket, TLS that of the holder of a certificate. Identity
//! rules say which entry it is.

use crate::context::Context;
use crate::peer::Peer;
use answers::identity::{self, Found};
use policy::Subject;
use policy::mapping::{Kind, Outside};
use protocol::ResultCode;
use schema::Name;
use state::stop::Stop;

/// The name as which the client's identity acts; `None` if it stands for no entry. The log says
/// why.
pub(super) fn name_of(context: &Context<'_>, peer: &Peer) -> Result<Option<Name>, Stop> {
    let uid = peer.unix_uid.map(|it| it.to_string());
    let identity = match (&uid, &peer.certificate) {
        (Some(uid), _) => Outside::of(Kind::Unix).with("uid", uid.as_str()),
        (None, Some(certificate)) => {
            if let Err(why) = (certificate.check)() {
                return Stop::refuse(
                    ResultCode::INVALID_CREDENTIALS,
                    format!("EXTERNAL: the certificate is not accepted any more: {why}"),
                );
            }
            certificate.identity.clone()
        }
        (None, None) => return Ok(None),
    };
    let server = Subject::server();
    let open = context.of_server(&server);
    let why = match identity::find(&open, &identity)? {
        Found::Entry(id) => {
            let spelled = open.spelled_name(id)?;
            return crate::operation::resolve_name(&context.catalog.schema, &spelled).map(Some);
        }
        Found::Administrator => {
            let administrator = context.catalog.administrator.as_ref();
            return Ok(administrator.map(|it| it.name.clone()));
        }
        Found::Nobody(why) => why,
        Found::Unindexed(rule) => format!("rule {rule} needs an equality index"),
    };
    tracing::info!(parts = ?identity.parts, "EXTERNAL: the client's identity is nobody's: {why}");
    Ok(None)
}

/// The user id of this process: the owner of its files in `/proc`.
pub(super) fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |it| it.uid())
}
