//! SCRAM (RFC 5802, RFC 7677): client and server prove to each other that they know the password,
//! or keys made of it, without sending it.
//!
//! The first response does not reveal whether an account exists: an unknown identity gets a
//! constant salt of its own, and no proof is accepted for it.

use crate::account::bind_state::BindState;
use crate::account::check::BindCheck;
use crate::account::exchange::Exchange;
use crate::context::Context;
use crate::control::proxy;
use crate::operation::bind;
use crate::operation::bind::Outcome;
use crate::operation::sasl::{Given, acts_as_itself, named};
use crate::peer::Peer;
use policy::Subject;
use policy::password::{self, Prf, ScramKeys};
use protocol::sasl::{ClientFinal, ClientFirst};
use protocol::{DecodeError, ResultCode, base64};
use state::stop::Stop;
use state::stored_form;
use store::EntryId;

/// The mechanisms and their pseudorandom functions.
const MECHANISMS: [(&str, Prf); 2] = [
    ("SCRAM-SHA-256", Prf::Sha256),
    ("SCRAM-SHA-512", Prf::Sha512),
];
/// Random octets in the server's part of a nonce.
const NONCE_OCTETS: usize = 18;
/// Maximum length of a client's nonce: the exchange stays in memory while it waits for the client.
const NONCE_MAX: usize = 256;
/// Maximum length of a first message, of which the exchange keeps a copy.
const FIRST_MAX: usize = 4_096;

pub(super) fn digest_of(mechanism: &str) -> Option<Prf> {
    let mut all = MECHANISMS.iter();
    all.find(|(name, _)| name.eq_ignore_ascii_case(mechanism))
        .map(|(_, prf)| *prf)
}

pub(super) fn name(prf: Prf) -> &'static str {
    let found = MECHANISMS.iter().find(|(_, it)| *it == prf);
    found.map_or("", |(name, _)| *name)
}

/// Handles one of the two binds.
pub(super) fn bind(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    prf: Prf,
    given: &Given<'_>,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    let credentials = given.credentials.unwrap_or_default();
    match begun.filter(|it| it.prf == prf) {
        None => begin(context, bind_state, prf, credentials),
        Some(exchange) => end(context, bind_state, *exchange, credentials, given),
    }
}

fn begin(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    prf: Prf,
    credentials: &[u8],
) -> Result<Outcome, Stop> {
    let first = ClientFirst::decode(credentials).or_else(malformed)?;
    if first.nonce.len() > NONCE_MAX || credentials.len() > FIRST_MAX {
        return bind::invalid_credentials();
    }
    if first.binds_channel {
        return Stop::refuse(
            ResultCode::INVALID_CREDENTIALS,
            "binding to the channel is not offered: leave it out",
        );
    }
    let name = named(context, &first.user)?;
    let itself = match &name {
        Some(name) => acts_as_itself(context, name, &first.authorization)?,
        None => false,
    };
    let found = match name.filter(|_| itself) {
        Some(name) => whose(context, bind_state.peer, prf, &name)?,
        None => None,
    };
    let spelling = one_spelling(context, &first.user);
    let trial = bind_state.trial(&spelling)?;
    let (whose, keys) = match found {
        Some((id, subject, keys)) => (Some((id, Box::new(subject))), keys),
        None => {
            let salt = bind_state.cookie_key.salt(&spelling);
            (None, ScramKeys::of_nobody(prf, &salt))
        }
    };
    let mut random = [0; NONCE_OCTETS];
    if getrandom::fill(&mut random).is_err() {
        return Stop::refuse(ResultCode::UNAVAILABLE, "no random bytes for a nonce");
    }
    let nonce = format!("{}{}", first.nonce, text(&random));
    let salt = text(&keys.salt);
    let answer = format!("r={nonce},s={salt},i={}", keys.iterations);
    let exchange = Exchange {
        prf,
        whose,
        keys,
        trial,
        header: first.header.to_owned(),
        nonce,
        first: format!("{},{answer}", first.bare),
    };
    Ok(Outcome::Challenge(answer.into_bytes(), Box::new(exchange)))
}

/// The identity in the form in which names or user ids are compared: an identity has one salt
/// however the client spells it, whether the account exists or not.
pub(super) fn one_spelling(context: &Context<'_>, user: &str) -> Vec<u8> {
    let schema = &context.catalog.schema;
    if let Some(name) = proxy::dn_of(user).and_then(|dn| schema.resolve_name(dn).ok()) {
        return name.bytes().to_vec();
    }
    let id = proxy::user_id_of(user).unwrap_or(user);
    let mut form = Vec::new();
    match schema.attribute_type("uid") {
        Some(uid) => stored_form::normal(schema, uid, id.as_bytes(), &mut form),
        None => form.extend_from_slice(id.as_bytes()),
    }
    form
}

fn end(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    mut exchange: Exchange,
    credentials: &[u8],
    given: &Given<'_>,
) -> Result<Outcome, Stop> {
    let last = ClientFinal::decode(credentials).or_else(malformed)?;
    if last.nonce != exchange.nonce || last.header != exchange.header.as_bytes() {
        return bind::invalid_credentials();
    }
    let signed = format!("{},{}", exchange.first, last.without_proof);
    // Others may have failed since the exchange began.
    bind_state.again(&mut exchange.trial)?;
    let matched = exchange.keys.proves(signed.as_bytes(), &last.proof);
    let Some((id, subject)) = exchange.whose.take() else {
        bind_state.was_wrong(&exchange.trial, &last.proof);
        return bind::invalid_credentials();
    };
    // Proofs differ between exchanges, so repeated wrong passwords cannot be recognised.
    let guess = bind_state.guess(id, &last.proof);
    let matched = matched && still_keeps(context, bind_state.peer, id, &subject, &exchange)?;
    let check = BindCheck {
        subject,
        asked: given.asked,
        guess,
        trial: exchange.trial,
        proof: last.proof.to_vec(),
    };
    let mut verdict = bind::checked(context, bind_state, id, check, matched, None)?;
    if verdict.subject.is_some() {
        let signature = exchange.keys.signature(signed.as_bytes());
        verdict.server_credentials = Some(format!("v={}", text(&signature)).into_bytes());
    }
    Ok(Outcome::Judged(Box::new(verdict)))
}

/// The entry of an identity, its subject, and its keys for the mechanism; `None` if there is none.
fn whose(
    context: &Context<'_>,
    peer: &Peer,
    prf: Prf,
    name: &str,
) -> Result<Option<(EntryId, Subject, ScramKeys)>, Stop> {
    let name = crate::operation::resolve_name(&context.catalog.schema, name)?;
    let Some(candidate) = bind::candidate(context, peer, name)? else {
        return Ok(None);
    };
    let mut stored = candidate.stored.into_iter();
    let keys = stored.find_map(|it| password::scram_keys(it, prf));
    Ok(keys.map(|keys| (candidate.entry, candidate.subject, keys)))
}

/// Whether the subject may still bind with the keys that the client proved: the password may have
/// changed since the exchange began, and the entry may be deleted or renamed.
fn still_keeps(
    context: &Context<'_>,
    peer: &Peer,
    id: EntryId,
    subject: &Subject,
    exchange: &Exchange,
) -> Result<bool, Stop> {
    let Some(name) = &subject.name else {
        return Ok(false);
    };
    let now = bind::candidate(context, peer, name.clone())?.filter(|it| it.entry == id);
    let mut stored = now.map_or_else(Vec::new, |it| it.stored).into_iter();
    Ok(stored.any(|it| password::scram_keys(it, exchange.prf).as_ref() == Some(&exchange.keys)))
}

fn text(octets: &[u8]) -> String {
    let mut text = Vec::new();
    base64::encode_into(&mut text, octets);
    String::from_utf8_lossy(&text).into_owned()
}

fn malformed<T>(error: DecodeError) -> Result<T, Stop> {
    Stop::refuse(
        ResultCode::PROTOCOL_ERROR,
        format!("SCRAM credentials (RFC 5802 §7): {error}"),
    )
}
