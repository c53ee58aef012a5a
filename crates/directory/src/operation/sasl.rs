//! SASL binds (RFC 4513 §5.2): EXTERNAL for processes of this machine, PLAIN over protected
//! connections, SCRAM for accounts whose stored password allows it.

mod scram;

use crate::account::bind_state::BindState;
use crate::account::exchange::Exchange;
use crate::account::verdict::{BindControls, Verdict};
use crate::context::Context;
use crate::control::proxy;
use crate::operation::bind;
use crate::operation::bind::Outcome;
use crate::peer::Peer;
use policy::password::Scheme;
use policy::{Authentication as Proof, Subject};
use protocol::ResultCode;
use protocol::sasl::Plain;
use schema::Name;
use state::stop::Stop;

const EXTERNAL: &str = "EXTERNAL";
const PLAIN: &str = "PLAIN";

/// The mechanisms announced on a connection. SCRAM is not announced on Unix sockets: clients would
/// prefer it to EXTERNAL, and not be authenticated by the system.
pub(crate) fn mechanisms(peer: &Peer, scheme: Scheme) -> Vec<&'static str> {
    let scram = scheme.scram().filter(|_| peer.unix_uid.is_none());
    let plain = peer.secure || peer.unix_uid.is_some();
    let all = [
        peer.unix_uid.map(|_| EXTERNAL),
        plain.then_some(PLAIN),
        scram.map(scram::name),
    ];
    all.into_iter().flatten().collect()
}

/// The parts of a SASL bind request.
pub(super) struct Given<'r> {
    pub mechanism: &'r str,
    pub credentials: Option<&'r [u8]>,
    pub asked: BindControls,
}

/// Handles a bind with a mechanism. `begun` is the exchange that the previous bind left.
pub(super) fn bind(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    given: &Given<'_>,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    let named = |it: &str| it.eq_ignore_ascii_case(given.mechanism);
    if let Some(prf) = scram::digest_of(given.mechanism) {
        return scram::bind(context, bind_state, prf, given, begun);
    }
    if named(EXTERNAL) && bind_state.peer.unix_uid.is_some() {
        return external(context, bind_state.peer, given.credentials);
    }
    if named(PLAIN) {
        if !bind_state.peer.secure && bind_state.peer.unix_uid.is_none() {
            return Stop::refuse(
                ResultCode::CONFIDENTIALITY_REQUIRED,
                "PLAIN is offered under TLS, where nobody can read the password",
            );
        }
        return plain(context, bind_state, given.credentials, given.asked);
    }
    let offered = mechanisms(bind_state.peer, bind_state.passwords.scheme).join(", ");
    let mechanism = given.mechanism;
    Stop::refuse(
        ResultCode::AUTH_METHOD_NOT_SUPPORTED,
        format!("SASL mechanism {mechanism} is not offered here; offered: [{offered}]"),
    )
}

/// The DN of an identity: `dn:` and a DN, or `u:` and the `uid` of exactly one entry, or that `uid`
/// alone. `None` if no entry fits.
fn named(context: &Context<'_>, identity: &str) -> Result<Option<String>, Stop> {
    let server = Subject::server();
    let context = context.of_server(&server);
    let subject = match proxy::has_form(identity) {
        true => proxy::named(&context, identity)?,
        false => proxy::named(&context, &format!("u:{identity}"))?,
    };
    Ok(subject.map(|it| it.dn).filter(|it| !it.is_empty()))
}

/// Whether an authorization identity names the client itself.
fn acts_as_itself(context: &Context<'_>, name: &str, authorization: &str) -> Result<bool, Stop> {
    Ok(authorization.is_empty() || named(context, authorization)?.is_some_and(|it| it == name))
}

/// EXTERNAL (RFC 4422 appendix A): the operating system identifies the process at the other end.
fn external(
    context: &Context<'_>,
    peer: &Peer,
    credentials: Option<&[u8]>,
) -> Result<Outcome, Stop> {
    // The owner of the server's process and root act as the administrator of the node.
    let administers = peer.unix_uid.is_some_and(|it| it == 0 || it == own_uid());
    match &context.catalog.administrator {
        Some(administrator) if administers => {
            refuse_other(
                context,
                &administrator.name,
                credentials.unwrap_or_default(),
            )?;
            let subject = context.subject.administrator(
                administrator.name.clone(),
                administrator.spelled.clone(),
                Proof::External,
            );
            Ok(Outcome::Accepted(Box::new(subject), None))
        }
        _ => bind::invalid_credentials(),
    }
}

/// Refuses an authorization identity other than the client's own (RFC 4513 §5.2.3.2).
fn refuse_other(context: &Context<'_>, own: &Name, authorization: &[u8]) -> Result<(), Stop> {
    let text = String::from_utf8_lossy(authorization);
    if text.is_empty() {
        return Ok(());
    }
    let schema = &context.catalog.schema;
    let name = named(context, &text)?.and_then(|it| schema.resolve_name(&it).ok());
    if name.as_ref() == Some(own) {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::INVALID_CREDENTIALS,
        format!("EXTERNAL: expected no authorization identity or your own, got \"{text}\""),
    )
}

/// PLAIN (RFC 4616): an identity and a password.
fn plain(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    credentials: Option<&[u8]>,
    asked: BindControls,
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
    let password = decoded.password.as_bytes();
    if password.is_empty() {
        return bind::invalid_credentials();
    }
    // Counted by what the client has said, so that it is not told which account that is.
    let spelling = scram::one_spelling(context, decoded.authentication);
    let trial = bind_state.trial(&spelling)?;
    let name = match named(context, decoded.authentication)? {
        Some(name) if acts_as_itself(context, &name, decoded.authorization)? => name,
        _ => {
            bind_state.was_wrong(&trial, password);
            return Ok(bind::refused(bind_state, password, Verdict::plain(None)));
        }
    };
    let given = bind::Given {
        name: &name,
        password,
        asked,
    };
    let name = super::resolve_name(&context.catalog.schema, &name)?;
    bind::with_password(context, bind_state, name, &given, trial)
}

/// The user id of this process: the owner of its files in `/proc`.
fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |it| it.uid())
}
