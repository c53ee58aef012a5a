//! SCRAM (RFC 5802, RFC 7677) for the accounts of the directory.
//!
//! The first response does not reveal whether an account exists: an unknown identity gets a
//! constant salt of its own, and no proof is accepted for it.

use crate::account::bind_state::BindState;
use crate::account::check::BindCheck;
use crate::account::exchange::{Exchange, ScramExchange};
use crate::account::verdict::Asked;
use crate::context::Context;
use crate::control::proxy;
use crate::operation::bind;
use crate::operation::bind::Outcome;
use crate::operation::sasl::refused;
use crate::peer::Peer;
use answers::identity;
use policy::mapping::{Kind, Outside};
use policy::password::{self, Prf, ScramKeys};
use policy::{Authentication as Proof, Subject};
use protocol::ResultCode;
use sasl::scram::{First, NONCE_OCTETS};
use sasl::{Circumstances, Variant};
use state::stop::Stop;
use state::stored_form;
use store::EntryId;
use zeroize::Zeroizing;

/// A message of a client.
pub(super) struct Given<'r> {
    pub variant: Variant,
    pub circumstances: &'r Circumstances<'r>,
    pub credentials: &'r [u8],
    pub asked: &'r Asked,
}

/// Handles one of the two binds.
pub(super) fn bind(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    given: &Given<'_>,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    match begun.map(|it| *it) {
        Some(Exchange::Scram(it)) if it.scram.variant() == given.variant => {
            end(context, bind_state, *it, given)
        }
        _ => begin(context, bind_state, given),
    }
}

fn begin(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    given: &Given<'_>,
) -> Result<Outcome, Stop> {
    let prf = given.variant.prf;
    let first = First::read(given.variant, given.credentials, given.circumstances);
    let first = first.or_else(refused)?;
    let found = match proxy::account_of(context, &first.user)? {
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
    let user = first.user.to_string();
    let (answer, scram) = first.challenge(keys, &random);
    let exchange = Exchange::Scram(Box::new(ScramExchange {
        user,
        whose,
        scram,
        trial,
    }));
    Ok(Outcome::Challenge(answer, Box::new(exchange)))
}

/// The identity in one form: an identity has one salt however the client spells it, whether the
/// account exists or not. A user id stands for the name that identity rules expect its entry to
/// have, so that it has the salt of this name.
pub(super) fn one_spelling(context: &Context<'_>, user: &str) -> Vec<u8> {
    let schema = &context.catalog.schema;
    if let Some(name) = proxy::dn_of(user).and_then(|dn| schema.resolve_name(dn).ok()) {
        return name.bytes().to_vec();
    }
    let id = proxy::user_id_of(user).unwrap_or(user);
    let identity = Outside::of(Kind::Sasl).with("name", id);
    if let Some(name) = identity::expected_name(context.catalog, &identity) {
        return name.bytes().to_vec();
    }
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
    mut exchange: ScramExchange,
    given: &Given<'_>,
) -> Result<Outcome, Stop> {
    // Others may have failed since the exchange began.
    bind_state.again(&mut exchange.trial)?;
    let judged = exchange.scram.judge(given.credentials).or_else(refused)?;
    let Some((id, subject)) = exchange.whose.take() else {
        bind_state.was_wrong(&exchange.trial, &judged.proof);
        return bind::invalid_credentials();
    };
    // Proofs differ between exchanges, so repeated wrong passwords cannot be recognised.
    let guess = bind_state.guess(id, &judged.proof);
    let keys = &exchange.scram.keys;
    let matched = judged.proved
        && still_keeps(
            context,
            bind_state.peer,
            id,
            &subject,
            keys,
            given.variant.prf,
        )?;
    let check = BindCheck {
        subject,
        asked: given.asked.clone(),
        guess,
        trial: exchange.trial,
        proof: Zeroizing::new(judged.proof),
    };
    let mut verdict = bind::checked(context, bind_state, id, check, matched, None)?;
    if verdict.subject.is_some() {
        verdict.server_credentials = Some(judged.answer);
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
    let Some(mut candidate) = bind::candidate(context, peer, name)? else {
        return Ok(None);
    };
    candidate.subject.authentication = Proof::Scram;
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
    keys: &ScramKeys,
    prf: Prf,
) -> Result<bool, Stop> {
    let Some(name) = &subject.name else {
        return Ok(false);
    };
    let now = bind::candidate(context, peer, name.clone())?.filter(|it| it.entry == id);
    let mut stored = now.map_or_else(Vec::new, |it| it.stored).into_iter();
    Ok(stored.any(|it| password::scram_keys(it, prf).as_ref() == Some(keys)))
}
