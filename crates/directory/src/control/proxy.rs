//! Proxied authorization (RFC 4370): resolves the subject as which an operation is executed.

use crate::call::Call;
use crate::context::{Context, Place};
use answers::identity::{self, Found};
use policy::Subject;
use policy::mapping::{Kind, Outside};
use protocol::ResultCode;
use state::stop::{Refusal, Stop};
use state::view::View;
use std::borrow::Cow;
use std::rc::Rc;
use store::EntryId;

/// Prefixes of the two forms of an authzId. Case is ignored, as in all ABNF strings (RFC 5234
/// §2.3).
const DN: &str = "dn:";
const USER_ID: &str = "u:";

/// Whether an identity has one of the forms of an authzId.
pub(crate) fn has_form(identity: &str) -> bool {
    after(identity, DN).or(after(identity, USER_ID)).is_some()
}

/// The DN of an identity `dn:…`; `None` for other forms.
pub(crate) fn dn_of(identity: &str) -> Option<&str> {
    after(identity, DN)
}

/// The user id of an identity `u:…`; `None` for other forms.
pub(crate) fn user_id_of(identity: &str) -> Option<&str> {
    after(identity, USER_ID)
}

fn after<'i>(identity: &'i str, beginning: &str) -> Option<&'i str> {
    let (head, rest) = identity.split_at_checked(beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// The DN of an identity, which may also be given as a bare DN (RFC 3062 §2.1).
pub(crate) fn spelled_name<'i>(
    context: &Context<'_>,
    identity: &'i str,
) -> Result<Cow<'i, str>, Stop> {
    let Some(user) = after(identity, USER_ID) else {
        return Ok(Cow::Borrowed(after(identity, DN).unwrap_or(identity)));
    };
    match by_user_id(context, user)? {
        Some(entry) => Ok(Cow::Owned(context.spelled_name(entry)?)),
        None => Stop::refuse(
            ResultCode::NO_SUCH_OBJECT,
            format!("expected the uid of one entry, {user:?} is of none or of several"),
        ),
    }
}

/// The subject of an authzId (RFC 4513 §5.2.1.8), if `own` may act as it.
pub(crate) fn subject(
    call: &Call<'_>,
    own: &Rc<Subject>,
    identity: &str,
) -> Result<Rc<Subject>, Stop> {
    let context = Context::new(call.snapshot, call.catalog, own);
    // A subject that may act as nobody else gets one answer, whether the identity exists or not.
    match named(&context, identity)? {
        Some(other) if context.may_act_as(&other)? => Ok(Rc::new(other.proxied_by(own))),
        _ => Err(denied()),
    }
}

/// The subject that an authzId names; `None` if it names no entry, or several.
pub(crate) fn named(context: &View<'_>, identity: &str) -> Result<Option<Subject>, Stop> {
    let own = context.subject;
    // Which identity is meant does not depend on what the subject sees.
    let server = Subject::server();
    let open = context.of_server(&server);
    let anonymous = Subject::anonymous(own.address, own.secure);
    if identity.is_empty() {
        return Ok(Some(anonymous));
    }
    if let Some(user) = after(identity, USER_ID) {
        return match by_user_id(&open, user)? {
            Some(entry) => of_entry(context, entry).map(Some),
            None => Ok(None),
        };
    }
    let Some(dn) = after(identity, DN) else {
        return Stop::refuse(
            ResultCode::AUTHORIZATION_DENIED,
            "expected an authorization identity of the form dn:… or u:…, or none",
        );
    };
    let Ok(name) = context.catalog.schema.resolve_name(dn) else {
        return Ok(None);
    };
    if name.depth() == 0 {
        return Ok(Some(anonymous));
    }
    if let Some(it) = &context.catalog.administrator
        && it.name == name
    {
        let spelled = it.spelled.clone();
        let subject = own.administrator(name, spelled, own.authentication);
        return Ok(Some(subject));
    }
    match open.find(&name)? {
        Place::Found(entry)
            if context.sees_everything() || !name.is_within(&context.catalog.config) =>
        {
            of_entry(context, entry).map(Some)
        }
        Place::Found(_) | Place::Missing { .. } => Ok(None),
    }
}

/// The DN of an identity: `dn:` and a DN, or `u:` and the `uid` of exactly one entry, or that `uid`
/// alone. `None` if no entry fits.
pub(crate) fn account_of(context: &View<'_>, identity: &str) -> Result<Option<String>, Stop> {
    let server = Subject::server();
    let context = context.of_server(&server);
    let subject = match has_form(identity) {
        true => named(&context, identity)?,
        false => named(&context, &format!("u:{identity}"))?,
    };
    Ok(subject.map(|it| it.dn).filter(|it| !it.is_empty()))
}

fn of_entry(context: &View<'_>, entry: EntryId) -> Result<Subject, Stop> {
    let own = context.subject;
    let spelled = context.spelled_name(entry)?;
    let name = crate::operation::resolve_name(&context.catalog.schema, &spelled)?;
    Ok(Subject {
        entry: Some(entry.0),
        ..own.authenticated(name, spelled, own.authentication)
    })
}

/// Refuses to continue as an identity that `own` acted as before: its entry was deleted or renamed,
/// or `own` may act as it no longer. Does nothing for the own subject.
pub(crate) fn require_still(call: &Call<'_>, own: &Subject, acting: &Subject) -> Result<(), Stop> {
    if acting.proxied_by.is_none() {
        return Ok(());
    }
    let context = Context::new(call.snapshot, call.catalog, own);
    let is_there = match (&acting.name, acting.entry) {
        (Some(name), Some(entry)) => {
            matches!(context.find_any(name)?, Place::Found(it) if it.0 == entry)
        }
        (_, _) => true,
    };
    match is_there && context.may_act_as(acting)? {
        true => Ok(()),
        false => Err(denied()),
    }
}

/// The entry of a user id, by the identity rules for SASL names; `None` unless there is exactly
/// one.
fn by_user_id(context: &View<'_>, user: &str) -> Result<Option<EntryId>, Stop> {
    match identity::find(context, &Outside::of(Kind::Sasl).with("name", user))? {
        Found::Entry(entry) => Ok(Some(entry)),
        Found::Administrator | Found::Nobody(_) => Ok(None),
        Found::Unindexed(_) => Stop::refuse(
            ResultCode::AUTHORIZATION_DENIED,
            "u: needs an equality index on uid to find the user by",
        ),
    }
}

fn denied() -> Stop {
    let text = "you may not act as this identity, or it is not known here";
    Refusal::new(ResultCode::AUTHORIZATION_DENIED, text).into()
}
