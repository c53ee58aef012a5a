//! Password Modify (RFC 3062), with generated passwords.

use crate::account::bind_state::BindState;
use crate::account::check::{CheckPurpose, PasswordChange, TriedPassword};
use crate::account::hashing::{PasswordJob, Work};
use crate::account::{new_password, passwords, rehash};
use crate::call::Call;
use crate::context::{Context, Place};
use crate::control::{Controls, Envelope, proxy};
use crate::feed::Feed;
use crate::flow::Flow;
use crate::operation::{transaction, update};
use crate::reply::Reply;
use crate::request_writes::RequestWrites;
use crate::session::Session;
use policy::Right;
use policy::password::{self, Cost};
use protocol::extended::{PasswordModifyRequest, PasswordModifyResponse};
use protocol::{ChangeOperation, ResultCode, ResultKind};
use schema::{Description, Name};
use state::grant::Grant;
use state::stop::Stop;
use state::write::{Change, Given, Modification, Write};
use store::EntryId;
use zeroize::Zeroizing;

/// Length of a generated password in characters: 20 out of 62 are 119 bits.
const GENERATED_LENGTH: usize = 20;

/// A resolved request, which may need a slow check first.
struct Resolved {
    write: Write,
    reply: Reply,
    to_check: Option<OldPassword>,
}

/// The check of an old password that needs a slow hash.
struct OldPassword {
    entry: u64,
    stored: Vec<Vec<u8>>,
    tried: TriedPassword,
}

/// Submits the change of a password, keeps it for the end of its transaction, or begins the slow
/// check of the old password.
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &mut Session,
    request: &PasswordModifyRequest<'_>,
    envelope: &Envelope<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let Envelope { id, controls, .. } = *envelope;
    passwords::refuse_exposed(&session.peer)?;
    let Resolved {
        mut write,
        mut reply,
        to_check,
    } = resolve(
        context,
        &BindState::of(call, &session.peer),
        request,
        controls,
    )?;
    let old = request.old_password;
    new_password::check(call, context, &session.peer, &mut write, old)?;
    controls.ask(&mut reply);
    update::keep_to_decision(context, &mut write)?;
    reply.again = update::may_decide_again(context, session, &write, envelope);
    let kind = ResultKind::Extended;
    match (to_check, controls.transaction) {
        (None, None) => {
            let writes = Box::new(RequestWrites::One(write));
            call.submit(session, id, kind, writes, reply)?;
        }
        (None, Some(identifier)) => {
            let update = (kind, write, &reply);
            transaction::queue(session, identifier, id, update, out)?;
            return Ok(Flow::Done);
        }
        (Some(old), identifier) => {
            let given = old.tried.given.clone();
            let mut change = Box::new(PasswordChange {
                write,
                reply,
                tried: old.tried,
                transaction: None,
            });
            if let Some(identifier) = identifier {
                transaction::queue_unchecked(session, identifier, id, &mut change)?;
            }
            let job = PasswordJob {
                entry: old.entry,
                stored: old.stored,
                given,
                purpose: CheckPurpose::Change(change),
            };
            call.hash(session, id, Work::Verify(job))?;
            session.checking += u16::from(identifier.is_some());
        }
    }
    Ok(Flow::Waiting)
}

/// Resolves the request into a write that replaces the password.
fn resolve(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    request: &PasswordModifyRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Resolved, Stop> {
    let catalog = context.catalog;
    let user = match request.user_identity {
        Some(identity) => identity,
        None if context.subject.is_anonymous() => {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "bind first, or name the user whose password is to change",
            );
        }
        None => context.subject.dn.as_str(),
    };
    let user = proxy::spelled_name(context, user)?;
    let name = super::resolve_name(&catalog.schema, &user)?;
    if name.depth() == 0 {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the root DSE has no password",
        );
    }
    let type_id = catalog.known.user_password.type_id;
    let mut grant = Grant::decide(context, Right::Write, name, Some(type_id))?;
    let mut entry = None;
    if let Some(administrator) = &catalog.administrator
        && administrator.name == *grant.name()
    {
        let kept_in = context.spelled_name(administrator.entry)?;
        let kept_in = super::resolve_name(&catalog.schema, &kept_in)?;
        grant = Grant::decide(context, Right::Write, kept_in, Some(type_id))?;
        entry = Some(administrator.entry);
    }
    let entry = match entry {
        Some(entry) => entry,
        None => match context.find_any(grant.name())? {
            Place::Found(entry) => entry,
            Place::Missing { matched, .. } => return Err(context.no_such_object(matched)?.into()),
        },
    };
    let to_check = match request.old_password {
        Some(old) => check_old(context, bind_state, entry, grant.name(), old)?,
        None => None,
    };
    let (new, reply) = chosen_password(request.new_password)?;
    let given = Given {
        description: Description::of_type(type_id),
        values: vec![new],
    };
    let options = controls.write_options(context, grant.name())?;
    Ok(Resolved {
        write: Write {
            grant,
            spelled: user.into_owned(),
            manage_dsa_it: false,
            options,
            change: Change::Modify(vec![Modification {
                operation: ChangeOperation::Replace,
                given,
            }]),
        },
        reply,
        to_check,
    })
}

/// Checks the old password. `None` if it is right; the stored values to verify if that is slow.
fn check_old(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    entry: EntryId,
    name: &Name,
    old: &[u8],
) -> Result<Option<OldPassword>, Stop> {
    let tried = TriedPassword {
        trial: bind_state.trial(name.bytes())?,
        given: Zeroizing::new(old.to_vec()),
    };
    let mut slow = Vec::new();
    let stored = passwords::stored_passwords(context, entry)?.into_iter();
    let allow_des = context.catalog.passwords.allow_des;
    for value in stored.filter(|it| allow_des || !password::is_des(it)) {
        match password::cost(value) {
            Cost::Fast if password::verify(value, old) => {
                bind_state.settle(&tried, true);
                return Ok(None);
            }
            Cost::Fast => {}
            Cost::Slow => slow.push(value.to_vec()),
        }
    }
    if slow.is_empty() {
        bind_state.settle(&tried, false);
        return Stop::refuse(ResultCode::INVALID_CREDENTIALS, "the old password is wrong");
    }
    Ok(Some(OldPassword {
        entry: entry.0,
        stored: slow,
        tried,
    }))
}

/// Whether the stored value that a slow check found right is still the password of the entry, which
/// may be deleted or renamed meanwhile.
pub(crate) fn still_keeps(
    context: &Context<'_>,
    feed: &Feed,
    entry: EntryId,
    name: &Name,
    stored: Option<Vec<u8>>,
) -> Result<bool, Stop> {
    let Some(stored) = stored else {
        return Ok(false);
    };
    match context.find(name)? {
        Place::Found(now) if now == entry => {
            let kept = passwords::stored_passwords(context, entry)?;
            Ok(rehash::keeps(feed, entry, &stored, &kept))
        }
        _ => Ok(false),
    }
}

/// The new password in the clear, and the part of the response that returns a generated one.
fn chosen_password(given: Option<&[u8]>) -> Result<(Vec<u8>, Reply), Stop> {
    match given {
        Some([]) => Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "the new password is empty",
        ),
        Some(new) => Ok((new.to_vec(), Reply::default())),
        None => {
            let Ok(new) = password::generate_password(GENERATED_LENGTH) else {
                return Stop::refuse(ResultCode::OTHER, "no random bytes to make a password of");
            };
            let new = new.into_bytes();
            let mut value = Vec::new();
            PasswordModifyResponse {
                generated_password: Some(&new),
            }
            .encode(&mut value);
            let value = Some(value);
            let reply = Reply {
                value,
                ..Reply::default()
            };
            Ok((new, reply))
        }
    }
}
