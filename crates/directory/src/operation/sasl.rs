//! SASL binds (RFC 4513 §5.2): EXTERNAL for processes of this machine and for certificates of TLS,
//! PLAIN and OAUTHBEARER over protected connections, SCRAM for accounts whose stored password
//! allows it.

mod external;
mod scram;

use crate::account::bind_state::BindState;
use crate::account::bound::Bound;
use crate::account::exchange::Exchange;
use crate::account::policed::Case;
use crate::account::verdict::{Asked, Verdict};
use crate::context::Context;
use crate::control::proxy;
use crate::operation::bind;
use crate::operation::bind::{Candidate, Outcome};
use crate::peer::Peer;
use answers::identity;
use policy::mapping::Outside;
use policy::{Authentication as Proof, PasswordSettings, Subject};
use protocol::sasl::Plain;
use protocol::{Authentication, ResultCode};
use sasl::token::Issuers;
use sasl::{Circumstances, Mechanism, Refusal};
use state::stop::{self, Stop};

/// The facts about a connection from which it follows which mechanisms it is offered.
pub(crate) fn circumstances(peer: &Peer, passwords: PasswordSettings) -> Circumstances<'_> {
    Circumstances {
        identified: peer.is_identified(),
        local: peer.unix_uid.is_some(),
        private: peer.secure || peer.unix_uid.is_some(),
        bindings: peer.bindings.as_deref(),
        scram: passwords.scram(),
        offers: peer.offers.as_deref(),
    }
}

/// The parts of a SASL bind request.
pub(super) struct Given<'r> {
    pub mechanism: &'r str,
    pub credentials: Option<&'r [u8]>,
    pub asked: &'r Asked,
}

/// The identity that a bind request, or the exchange that it continues, wants to act as; empty for
/// the client's own, and where the credentials are malformed, which the mechanism refuses.
pub(super) fn authorization(given: &Authentication<'_>, begun: Option<&Exchange>) -> String {
    let Authentication::Sasl {
        mechanism,
        credentials,
    } = given
    else {
        return String::new();
    };
    match (Mechanism::named(mechanism), begun) {
        (Some(Mechanism::Scram(_)), Some(Exchange::Scram(begun))) => {
            begun.scram.authorization.clone()
        }
        (Some(mechanism), _) => mechanism.authorization(credentials.unwrap_or_default()),
        (None, _) => String::new(),
    }
}

/// Handles a bind with a mechanism. `begun` is the exchange that the previous bind left.
pub(super) fn bind(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    given: &Given<'_>,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    let circumstances = circumstances(bind_state.peer, bind_state.passwords);
    match Mechanism::named(given.mechanism) {
        // Also where it is not announced: accounts may have keys that came with them.
        Some(Mechanism::Scram(variant)) => {
            let exchange = scram::Given {
                variant,
                circumstances: &circumstances,
                credentials: given.credentials.unwrap_or_default(),
                asked: given.asked,
            };
            scram::bind(context, bind_state, &exchange, begun)
        }
        Some(Mechanism::External) if circumstances.offers(Mechanism::External) => {
            external(context, bind_state)
        }
        Some(Mechanism::Plain) if circumstances.offers(Mechanism::Plain) => {
            plain(context, bind_state, given.credentials, given.asked)
        }
        Some(Mechanism::Plain) => Stop::refuse(
            ResultCode::CONFIDENTIALITY_REQUIRED,
            "PLAIN is offered under TLS, where nobody can read the password",
        ),
        Some(Mechanism::Bearer) => match circumstances.issuers() {
            Some(issuers) if circumstances.private => {
                bearer(context, bind_state, issuers, given, begun)
            }
            Some(_) => Stop::refuse(
                ResultCode::CONFIDENTIALITY_REQUIRED,
                "OAUTHBEARER is offered under TLS, where nobody can read the token",
            ),
            None => not_offered(&circumstances, given.mechanism),
        },
        Some(Mechanism::Anonymous) if circumstances.offers(Mechanism::Anonymous) => {
            // What the client says of itself is in the log of operations.
            let trace = sasl::anonymous::trace(given.credentials.unwrap_or_default());
            trace.or_else(refused)?;
            let peer = bind_state.peer;
            let nobody = Subject::anonymous(peer.address, peer.secure);
            Ok(Outcome::Accepted(Box::new(nobody), None))
        }
        Some(Mechanism::External | Mechanism::Anonymous) | None => {
            not_offered(&circumstances, given.mechanism)
        }
    }
}

fn refused<T>(refusal: Refusal) -> Result<T, Stop> {
    Err(stop::Refusal::new(refusal.code, refusal.text).into())
}

fn not_offered<T>(circumstances: &Circumstances<'_>, mechanism: &str) -> Result<T, Stop> {
    let offered = circumstances.offered().join(", ");
    Stop::refuse(
        ResultCode::AUTH_METHOD_NOT_SUPPORTED,
        format!("SASL mechanism {mechanism} is not offered here; offered: [{offered}]"),
    )
}

/// EXTERNAL (RFC 4422 appendix A): binds as the entry of the identity that a layer below LDAP has
/// proved.
fn external(context: &Context<'_>, bind_state: &BindState<'_>) -> Result<Outcome, Stop> {
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
        let subject = context
            .subject
            .administrator(name, spelled, Proof::External);
        return Ok(Outcome::Accepted(Box::new(subject), None));
    }
    let Some(identity) = external::identity_of(peer)? else {
        return bind::invalid_credentials();
    };
    let proof = match peer.unix_uid {
        Some(_) => Proof::External,
        None => Proof::Certificate,
    };
    match mapped(context, bind_state, &identity, proof)? {
        Some(found) => Ok(Outcome::Accepted(Box::new(found.subject), None)),
        None => bind::invalid_credentials(),
    }
}

/// The account that identity rules find for an identity of another system; `None` if there is none,
/// or it may not bind.
fn mapped<'c>(
    context: &'c Context<'_>,
    bind_state: &BindState<'_>,
    identity: &Outside<'_>,
    proof: Proof,
) -> Result<Option<Candidate<'c>>, Stop> {
    let server = Subject::server();
    let name = match identity::name_of(&context.of_server(&server), identity)? {
        Ok(name) => name,
        Err(why) => {
            let parts = &identity.parts;
            tracing::info!(?parts, ?proof, "the client's identity is nobody's: {why}");
            return Ok(None);
        }
    };
    let Some(mut candidate) = bind::candidate(context, bind_state.peer, name)? else {
        return Ok(None);
    };
    let case = Case::of(context, bind_state, candidate.entry)?;
    candidate.subject.authentication = proof;
    Ok(Some(candidate).filter(|_| !case.is_some_and(|it| it.is_locked())))
}

/// OAUTHBEARER (RFC 7628): binds as the entry that the claims of a token stand for, until it
/// expires. A client whose token is not accepted is told so, and refused by its next bind.
fn bearer(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    issuers: &Issuers,
    given: &Given<'_>,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    if let Some(Exchange::Refused(why)) = begun.map(|it| *it) {
        return Stop::refuse(ResultCode::INVALID_CREDENTIALS, why);
    }
    let credentials = given.credentials.unwrap_or_default();
    let message = sasl::bearer::read(credentials).or_else(refused)?;
    let failure = match issuers.verify(message.token, bind_state.now_us / 1_000_000) {
        Ok(proved) => match mapped(context, bind_state, &proved.identity, Proof::Token)? {
            Some(found) => {
                let bound = Bound::by_token(context, found.entry, proved.end_s);
                return Ok(Outcome::Accepted(Box::new(found.subject), Some(bound)));
            }
            None => proved.is_nobodys(),
        },
        Err(failure) => failure,
    };
    tracing::info!("OAUTHBEARER: {failure}");
    let next = Exchange::Refused(format!("OAUTHBEARER: {failure}"));
    Ok(Outcome::Challenge(failure.answer(), Box::new(next)))
}

/// PLAIN (RFC 4616): an identity and a password.
fn plain(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    credentials: Option<&[u8]>,
    asked: &Asked,
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
        Some(name) => name,
        None => {
            bind_state.was_wrong(&trial, password);
            return Ok(bind::refused(bind_state, password, Verdict::plain(None)));
        }
    };
    let given = bind::Given {
        name: &name,
        password,
        proof: Proof::Plain,
        asked,
    };
    let name = super::resolve_name(&context.catalog.schema, &name)?;
    bind::with_password(context, bind_state, name, &given, trial)
}
