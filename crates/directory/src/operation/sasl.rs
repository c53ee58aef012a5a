//! SASL binds (RFC 4513 §5.2): EXTERNAL for processes of this machine, PLAIN where nobody listens.

use super::bind::{self, Asked, Desk, Given, Outcome};
use super::proxy;
use crate::context::Context;
use crate::session::Peer;
use crate::stop::Stop;
use policy::{Authentication as Proof, Subject};
use protocol::ResultCode;
use protocol::sasl::Plain;

const EXTERNAL: &str = "EXTERNAL";
const PLAIN: &str = "PLAIN";

/// The mechanisms a connection may use.
pub(crate) fn mechanisms(peer: &Peer) -> &'static [&'static str] {
    match (peer.unix_uid, peer.secure) {
        (Some(_), _) => &[EXTERNAL, PLAIN],
        (None, true) => &[PLAIN],
        (None, false) => &[],
    }
}

/// Decides a bind with a mechanism.
pub(super) fn bind(
    context: &Context<'_>,
    desk: &Desk<'_>,
    mechanism: &str,
    credentials: Option<&[u8]>,
    asked: Asked,
) -> Result<Outcome, Stop> {
    let offered = mechanisms(desk.peer);
    let known = offered.iter().find(|it| it.eq_ignore_ascii_case(mechanism));
    match known {
        Some(&EXTERNAL) => external(context, desk.peer, credentials),
        Some(&PLAIN) => plain(context, desk, credentials, asked),
        _ if mechanism.eq_ignore_ascii_case(PLAIN) => Stop::refuse(
            ResultCode::CONFIDENTIALITY_REQUIRED,
            "PLAIN is offered under TLS, where nobody can read the password",
        ),
        _ => {
            let offered = offered.join(", ");
            Stop::refuse(
                ResultCode::AUTH_METHOD_NOT_SUPPORTED,
                format!("SASL mechanism {mechanism} is not offered here; offered: [{offered}]"),
            )
        }
    }
}

/// RFC 4422 appendix A: the operating system says who is at the other end.
fn external(
    context: &Context<'_>,
    peer: &Peer,
    credentials: Option<&[u8]>,
) -> Result<Outcome, Stop> {
    if credentials.is_some_and(|authzid| !authzid.is_empty()) {
        return Stop::refuse(
            ResultCode::INVALID_CREDENTIALS,
            "EXTERNAL with an authorization identity of its own is not offered",
        );
    }
    // The owner of the process and root administer the node they run on.
    let administers = peer.unix_uid.is_some_and(|it| it == 0 || it == own_uid());
    match &context.catalog.administrator {
        Some(administrator) if administers => {
            Ok(Outcome::Accepted(Box::new(context.subject.administrator(
                administrator.name.clone(),
                administrator.spelled.clone(),
                Proof::External,
            ))))
        }
        _ => bind::invalid_credentials(),
    }
}

/// RFC 4616: a name and a password. The name is `dn:` and a DN, `u:` and the `uid` of exactly one
/// entry, or that `uid` alone.
fn plain(
    context: &Context<'_>,
    desk: &Desk<'_>,
    credentials: Option<&[u8]>,
    asked: Asked,
) -> Result<Outcome, Stop> {
    let decoded = match credentials.map(Plain::decode) {
        Some(Ok(decoded)) => decoded,
        Some(Err(error)) => {
            let text = format!("PLAIN credentials (RFC 4616 §2): {error}");
            return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
        }
        None => {
            let text = "PLAIN brings its credentials with the request";
            return Stop::refuse(ResultCode::INVALID_CREDENTIALS, text);
        }
    };
    let server = Subject::server();
    let context_of_server = context.of_server(&server);
    let named = |identity: &str| -> Result<Option<String>, Stop> {
        let has_form = identity.starts_with("dn:") || identity.starts_with("u:");
        let subject = match has_form {
            true => proxy::named(&context_of_server, identity)?,
            false => proxy::named(&context_of_server, &format!("u:{identity}"))?,
        };
        Ok(subject.map(|it| it.dn).filter(|it| !it.is_empty()))
    };
    let Some(name) = named(decoded.authentication)? else {
        return bind::invalid_credentials();
    };
    let acts_as_itself = decoded.authorization.is_empty()
        || named(decoded.authorization)?.is_some_and(|it| it == name);
    if decoded.password.is_empty() || !acts_as_itself {
        return bind::invalid_credentials();
    }
    let given = Given {
        name: &name,
        password: decoded.password.as_bytes(),
        asked,
    };
    bind::simple(context, desk, &given)
}

/// The user id this server runs under: the owner of its own files in `/proc`.
fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |it| it.uid())
}
