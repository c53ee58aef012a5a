//! SASL binds (RFC 4513 §5.2): EXTERNAL for processes of this machine and for certificates of TLS,
//! PLAIN over protected connections, SCRAM for accounts whose stored password allows it.

mod external;
mod scram;

use crate::account::bind_state::BindState;
use crate::account::exchange::Exchange;
use crate::account::policed::Case;
use crate::account::verdict::{BindControls, Verdict};
use crate::context::Context;
use crate::control::proxy;
use crate::operation::bind;
use crate::operation::bind::Outcome;
use crate::peer::Peer;
use policy::Authentication as Proof;
use policy::password::Scheme;
use protocol::ResultCode;
use protocol::sasl::Plain;
use state::stop::Stop;

const EXTERNAL: &str = "EXTERNAL";
const PLAIN: &str = "PLAIN";

/// The mechanisms announced on a connection. SCRAM is not announced on Unix sockets: clients would
/// prefer it to EXTERNAL, and not be authenticated by the system.
pub(crate) fn mechanisms(peer: &Peer, scheme: Scheme) -> Vec<&'static str> {
    let scram = scheme.scram().filter(|_| peer.unix_uid.is_none());
    let plain = peer.secure || peer.unix_uid.is_some();
    let all = [
        peer.is_identified().then_some(EXTERNAL),
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
    if named(EXTERNAL) && bind_state.peer.is_identified() {
        return external(context, bind_state, given.credentials.unwrap_or_default());
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

/// Whether an authorization identity names the client itself.
fn acts_as_itself(context: &Context<'_>, name: &str, authorization: &str) -> Result<bool, Stop> {
    Ok(authorization.is_empty()
        || proxy::account_of(context, authorization)?.is_some_and(|it| it == name))
}

/// EXTERNAL (RFC 4422 appendix A): binds as the entry of the identity that a layer below LDAP has
/// proved. `asked` is the authorization identity.
fn external(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    asked: &[u8],
) -> Result<Outcome, Stop> {
    let peer = bind_state.peer;
    // The owner of the server's process and root act as the administrator of the node.
    if peer
        .unix_uid
        .is_some_and(|it| it == 0 || it == external::own_uid())
    {
        let Some(administrator) = &context.catalog.administrator else {
            return bind::invalid_credentials();
        };
        let (name, spelled) = (administrator.name.clone(), administrator.spelled.clone());
        external::refuse_other(context, &name, asked)?;
        let subject = context
            .subject
            .administrator(name, spelled, Proof::External);
        return Ok(Outcome::Accepted(Box::new(subject), None));
    }
    let Some(name) = external::name_of(context, peer)? else {
        return bind::invalid_credentials();
    };
    let Some(mut candidate) = bind::candidate(context, peer, name.clone())? else {
        return bind::invalid_credentials();
    };
    let case = Case::of(context, bind_state, candidate.entry)?;
    if case.is_some_and(|it| it.is_locked()) {
        return bind::invalid_credentials();
    }
    external::refuse_other(context, &name, asked)?;
    candidate.subject.authentication = match peer.unix_uid {
        Some(_) => Proof::External,
        None => Proof::Certificate,
    };
    Ok(Outcome::Accepted(Box::new(candidate.subject), None))
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
    let name = match proxy::account_of(context, decoded.authentication)? {
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
