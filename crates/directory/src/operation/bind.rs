//! Bind (RFC 4511 §4.2, RFC 4513): finds the account and verifies the credentials.

use crate::account::bind_state::BindState;
use crate::account::bound::Bound;
use crate::account::check::{BindCheck, CheckPurpose};
use crate::account::exchange::Exchange;
use crate::account::hashing::{PasswordJob, Work};
use crate::account::passwords::{passwords_of, stored_passwords};
use crate::account::policed::{AccountName, Case};
use crate::account::rehash::{self, Proved};
use crate::account::subject_limits;
use crate::account::verdict::{Asked, Verdict};
use crate::call::Call;
use crate::context::{Context, Place};
use crate::control::Envelope;
use crate::flow::Flow;
use crate::operation::{acting, sasl};
use crate::peer::Peer;
use crate::session::Session;
use policy::password::{self, Cost};
use policy::{Authentication as Proof, Right, Subject, Tag, Trial};
use protocol::{
    Authentication, BindRequest, LdapResult, MessageId, OwnedControl, ResultCode, ResultKind, oid,
    response,
};
use schema::Name;
use state::stop::Stop;
use store::EntryId;
use zeroize::Zeroizing;

/// Result of the first step of a bind.
pub(crate) enum Outcome {
    /// Success: the session acts as this subject from now on. The second field is the account, if
    /// it was read.
    Accepted(Box<Subject>, Option<Box<Bound>>),
    /// The password policy of the account has decided.
    Judged(Box<Verdict>),
    /// The hash is slow: the caller verifies it on a hashing thread, then calls [`checked`].
    Check(PasswordJob),
    /// Credentials that the SASL mechanism sends to the client, and its state for the next bind
    /// request.
    Challenge(Vec<u8>, Box<Exchange>),
}

/// Binds, or begins the slow check of a password. `begun` is the SASL exchange that the request may
/// continue.
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &mut Session,
    request: &BindRequest<'_>,
    envelope: &Envelope<'_>,
    begun: Option<Box<Exchange>>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let Envelope { id, controls, .. } = *envelope;
    let asked = Asked {
        identity: controls.authorization_identity,
        policy: controls.password_policy,
        acts_as: sasl::authorization(&request.authentication, begun.as_deref()),
    };
    let bind_state = BindState::of(call, &session.peer);
    match bind(context, &bind_state, request, &asked, begun)? {
        Outcome::Accepted(subject, bound) => {
            become_subject(call, session, *subject, bound, &asked)?;
            let controls = identity(&session.subject, asked.identity);
            let done = LdapResult::success();
            response::write_result(out, id, ResultKind::Bind, &done, &controls);
            Ok(Flow::Done)
        }
        Outcome::Judged(verdict) => {
            end(call, session, id, *verdict, &asked, out)?;
            Ok(Flow::Done)
        }
        Outcome::Check(job) => {
            call.hash(session, id, Work::Verify(job))?;
            Ok(Flow::Waiting)
        }
        Outcome::Challenge(said, exchange) => {
            session.exchange = Some(exchange);
            let result = LdapResult::new(ResultCode::SASL_BIND_IN_PROGRESS, "");
            response::write_bind_result(out, id, &result, Some(&said), &[]);
            Ok(Flow::Done)
        }
    }
}

/// Makes the session act as a subject that has authenticated, or as the one that it asks for.
/// `bound` is the account of the former, if it was read.
fn become_subject(
    call: &Call<'_>,
    session: &mut Session,
    subject: Subject,
    bound: Option<Box<Bound>>,
    asked: &Asked,
) -> Result<(), Stop> {
    let mut bound = match bound {
        Some(bound) => Some(bound),
        None => bound_as(call, &subject)?,
    };
    let subject = acting::authorized(call, subject, &asked.acts_as)?;
    if subject.proxied_by.is_some() {
        bound = Bound::acting(bound, &call.context(&subject))?;
    }
    if let Some(bound) = &mut bound {
        bound.sit(&call.context(&subject), call.seats, session.id)?;
    }
    let limits = subject_limits::of(call, &subject)?;
    session.become_subject(subject, limits, bound);
    Ok(())
}

/// The account of a subject that has authenticated. If its entry was deleted meanwhile, the bind is
/// refused.
fn bound_as(call: &Call<'_>, subject: &Subject) -> Result<Option<Box<Bound>>, Stop> {
    let bound = Bound::of(&call.context(subject))?;
    if bound.is_none() && !subject.is_anonymous() && !subject.is_administrator() {
        return Stop::refuse(ResultCode::INVALID_CREDENTIALS, "");
    }
    Ok(bound)
}

/// Writes the response to a bind that was decided.
pub(crate) fn end(
    call: &Call<'_>,
    session: &mut Session,
    id: MessageId,
    verdict: Verdict,
    asked: &Asked,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut controls = verdict.controls;
    if let Some(subject) = verdict.subject {
        if verdict.must_change && !asked.acts_as.is_empty() {
            return Stop::refuse(
                ResultCode::INVALID_CREDENTIALS,
                "the password must be changed first: bind without an authorization identity",
            );
        }
        become_subject(call, session, *subject, None, asked)?;
        controls.extend(identity(&session.subject, asked.identity));
        session.must_change = verdict.must_change;
    }
    let said = verdict.server_credentials.as_deref();
    response::write_bind_result(out, id, &verdict.result, said, &controls);
    Ok(())
}

/// Decides a bind request. The session is anonymous while it runs (RFC 4511 §4.2.1).
fn bind(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    request: &BindRequest<'_>,
    asked: &Asked,
    begun: Option<Box<Exchange>>,
) -> Result<Outcome, Stop> {
    if request.version != 3 {
        return Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("expected protocol version 3, got {}", request.version),
        );
    }
    match request.authentication {
        Authentication::Simple(password) => {
            let given = Given {
                name: request.name,
                password,
                proof: Proof::Simple,
                asked,
            };
            simple(context, bind_state, &given)
        }
        Authentication::Sasl {
            mechanism,
            credentials,
        } => {
            let given = sasl::Given {
                mechanism,
                credentials,
                asked,
            };
            sasl::bind(context, bind_state, &given, begun)
        }
        Authentication::Unknown(tag) => Stop::refuse(
            ResultCode::AUTH_METHOD_NOT_SUPPORTED,
            format!("authentication choice [{tag}] is not known; use simple or sasl"),
        ),
    }
}

/// Name and password of a simple bind, or of a SASL mechanism that sends both.
pub(super) struct Given<'r> {
    pub name: &'r str,
    pub password: &'r [u8],
    /// The method by which they came.
    pub proof: Proof,
    pub asked: &'r Asked,
}

pub(super) fn simple(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    given: &Given<'_>,
) -> Result<Outcome, Stop> {
    let (peer, name) = (bind_state.peer, given.name);
    if name.is_empty() && given.password.is_empty() {
        let nobody = Subject::anonymous(peer.address, peer.secure);
        return Ok(Outcome::Accepted(Box::new(nobody), None));
    }
    if given.password.is_empty() {
        return Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            "unauthenticated bind (a name without a password) is refused, RFC 4513 §5.1.2",
        );
    }
    let resolved = super::resolve_name(&context.catalog.schema, name)?;
    let trial = bind_state.trial(resolved.bytes())?;
    with_password(context, bind_state, resolved, given, trial)
}

/// Tries the password of an account.
pub(super) fn with_password(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    name: Name,
    given: &Given<'_>,
    trial: Trial,
) -> Result<Outcome, Stop> {
    let Some(mut candidate) = candidate(context, bind_state.peer, name)? else {
        bind_state.was_wrong(&trial, given.password);
        return Ok(refused(bind_state, given.password, Verdict::plain(None)));
    };
    candidate.subject.authentication = given.proof;
    if let Some(case) = Case::of(context, bind_state, candidate.entry)? {
        return Ok(policed(context, case, candidate, given, trial));
    }
    let Candidate {
        entry,
        subject,
        stored,
    } = candidate;
    Ok(
        match try_values(bind_state, entry, &stored, given.password) {
            Tried::Right(value) => {
                bind_state.was_right(&trial);
                let proved = Proved::of(entry, value, given.password);
                rehash::offer(context, bind_state, &subject, &proved, None);
                let bound = Bound::by_password(context, entry, &stored);
                Outcome::Accepted(Box::new(subject), Some(bound))
            }
            Tried::Wrong | Tried::Nothing => {
                bind_state.was_wrong(&trial, given.password);
                refused(bind_state, given.password, Verdict::plain(None))
            }
            Tried::Slow(stored) => slow_check(bind_state, entry, subject, stored, given, trial),
        },
    )
}

/// Continues [`simple`] for an account that has a password policy.
#[cold]
fn policed(
    context: &Context<'_>,
    mut case: Case<'_>,
    candidate: Candidate<'_>,
    given: &Given<'_>,
    trial: Trial,
) -> Outcome {
    let Candidate {
        entry,
        subject,
        stored,
    } = candidate;
    let bind_state = case.bind_state;
    let guess = bind_state.guess(entry, given.password);
    case.tell_lock(&trial);
    // A locked account's password is not verified, unless its owner is to be told.
    let tried = match case.is_locked() && !case.tells_lock {
        true => Tried::Wrong,
        false => try_values(bind_state, entry, &stored, given.password),
    };
    let mut judge = |subject: Subject, matched| {
        judged(
            &mut case,
            Box::new(subject),
            guess,
            matched,
            given.asked.policy,
        )
    };
    match tried {
        Tried::Right(value) => {
            let verdict = judge(subject, true);
            if let Some(subject) = &verdict.subject {
                bind_state.was_right(&trial);
                let proved = Proved::of(entry, value, given.password);
                let policy = Some(&case.account.policy);
                rehash::offer(context, bind_state, subject, &proved, policy);
            }
            Outcome::Judged(Box::new(verdict))
        }
        Tried::Wrong => {
            bind_state.was_wrong(&trial, given.password);
            refused(bind_state, given.password, judge(subject, false))
        }
        Tried::Nothing => {
            bind_state.was_wrong(&trial, given.password);
            refused(bind_state, given.password, Verdict::plain(None))
        }
        Tried::Slow(stored) => slow_check(bind_state, entry, subject, stored, given, trial),
    }
}

/// Refuses a bind that needed no slow check. If the default scheme is slow, or keys of SCRAM are
/// stored beside it, the answer waits for such a check, so that its time does not reveal whether
/// the account exists.
#[cold]
pub(super) fn refused(bind_state: &BindState<'_>, password: &[u8], verdict: Verdict) -> Outcome {
    let verdict = Box::new(verdict);
    match (bind_state.passwords.scheme.cost(), bind_state.verifiers) {
        (Cost::Fast, None) => Outcome::Judged(verdict),
        (Cost::Slow, _) | (_, Some(_)) => Outcome::Check(PasswordJob {
            entry: 0,
            stored: Vec::new(),
            given: Zeroizing::new(password.to_vec()),
            purpose: CheckPurpose::Refused(verdict),
        }),
    }
}

/// Decides a bind under the policy of its account.
fn judged(
    case: &mut Case<'_>,
    subject: Box<Subject>,
    guess: Tag,
    matched: bool,
    wants_control: bool,
) -> Verdict {
    match &subject.name {
        Some(name) => {
            let account = AccountName {
                name,
                spelled: &subject.dn,
            };
            let judgement = case.judge(account, guess, matched);
            judgement.of_bind(subject, wants_control)
        }
        // A subject without a name has no account.
        None => Verdict::plain(None),
    }
}

impl BindState<'_> {
    /// Keyed hash of a password tried on an entry, by which a repeated guess is recognised.
    pub fn guess(&self, entry: EntryId, given: &[u8]) -> Tag {
        self.wrong.tag(entry.0, b"", given)
    }
}

/// Result of trying a password.
pub(crate) enum Tried<'v> {
    /// The password matches this stored value.
    Right(&'v [u8]),
    Wrong,
    /// The account has no password.
    Nothing,
    /// Stored values whose verification is slow and belongs on a hashing thread.
    Slow(Vec<Vec<u8>>),
}

/// Tries a password on the stored values that are fast to verify.
#[inline]
pub(super) fn try_values<'v>(
    bind_state: &BindState<'_>,
    entry: EntryId,
    stored: &[&'v [u8]],
    given: &[u8],
) -> Tried<'v> {
    let verified = bind_state.verified;
    if given.len() > password::PASSWORD_OCTETS_MAX && !stored.is_empty() {
        return Tried::Wrong;
    }
    let now_ms = bind_state.now_us / 1_000;
    let mut tried = match stored.is_empty() {
        true => Tried::Nothing,
        false => Tried::Wrong,
    };
    let mut slow = Vec::new();
    let allow_des = bind_state.passwords.allow_des;
    for value in stored
        .iter()
        .filter(|it| allow_des || !password::is_des(it))
    {
        match password::cost(value) {
            Cost::Fast if password::verify(value, given) => return Tried::Right(value),
            Cost::Fast => {}
            Cost::Slow if verified.contains(verified.tag(entry.0, value, given), now_ms) => {
                return Tried::Right(value);
            }
            Cost::Slow => slow.push(value.to_vec()),
        }
    }
    if !slow.is_empty() {
        tried = Tried::Slow(slow);
    }
    tried
}

fn slow_check(
    bind_state: &BindState<'_>,
    entry: EntryId,
    subject: Subject,
    stored: Vec<Vec<u8>>,
    given: &Given<'_>,
    trial: Trial,
) -> Outcome {
    Outcome::Check(PasswordJob {
        entry: entry.0,
        stored,
        given: Zeroizing::new(given.password.to_vec()),
        purpose: CheckPurpose::Bind(Box::new(BindCheck {
            subject: Box::new(subject),
            asked: given.asked.clone(),
            guess: bind_state.guess(entry, given.password),
            trial,
            proof: Zeroizing::new(given.password.to_vec()),
        })),
    })
}

/// Decides a bind after its slow check, by the present state: other binds may have failed in
/// between. `stored` is the value that the password in the check's proof matched; `None` if the
/// proof is no password.
pub(crate) fn checked(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    id: EntryId,
    check: BindCheck,
    matched: bool,
    stored: Option<&[u8]>,
) -> Result<Verdict, Stop> {
    let (subject, asked) = (check.subject, check.asked);
    let mut case = Case::of(context, bind_state, id)?;
    let verdict = match &mut case {
        Some(case) => {
            case.tell_lock(&check.trial);
            judged(case, subject, check.guess, matched, asked.policy)
        }
        None => Verdict::plain(matched.then_some(subject)),
    };
    if let Some(subject) = &verdict.subject {
        bind_state.was_right(&check.trial);
        if let Some(stored) = stored {
            let proved = Proved::of(id, stored, &check.proof);
            let policy = case.as_ref().map(|it| &it.account.policy);
            rehash::offer(context, bind_state, subject, &proved, policy);
        }
    } else if !matched {
        bind_state.was_wrong(&check.trial, &check.proof);
    }
    Ok(verdict)
}

/// Whether the subject may still bind with the stored value that a slow check found right: the
/// password may have changed since, and the entry may be deleted or renamed.
pub(crate) fn still_keeps(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    id: EntryId,
    subject: &Subject,
    stored: Option<&[u8]>,
) -> Result<bool, Stop> {
    let (Some(stored), Some(name)) = (stored, &subject.name) else {
        return Ok(false);
    };
    let now = candidate(context, bind_state.peer, name.clone())?;
    Ok(now
        .is_some_and(|it| it.entry == id && rehash::keeps(bind_state.feed, id, stored, &it.stored)))
}

/// The subject and entry of a bind if its password is right.
pub(super) struct Candidate<'c> {
    /// The entry that holds the password.
    pub entry: EntryId,
    pub subject: Subject,
    /// The values of userPassword; empty if there is none.
    pub stored: Vec<&'c [u8]>,
}

/// The candidate for a name; `None` if no entry has the name, or access rules forbid authentication
/// as it.
///
/// # Errors
/// The name is the administrator's, who may not bind from the client's address.
pub(super) fn candidate<'c>(
    context: &'c Context<'_>,
    peer: &Peer,
    name: Name,
) -> Result<Option<Candidate<'c>>, Stop> {
    if let Some(administrator) = &context.catalog.administrator
        && administrator.name == name
    {
        if peer.bars_administrator {
            return Stop::refuse(
                ResultCode::UNWILLING_TO_PERFORM,
                "the administrator may not bind from here: see administrator_from in pando.toml",
            );
        }
        let spelled = administrator.spelled.clone();
        let subject = context.subject.administrator(name, spelled, Proof::Simple);
        return Ok(Some(Candidate {
            entry: administrator.entry,
            subject,
            stored: stored_passwords(context, administrator.entry)?,
        }));
    }
    // Who may authenticate need not be known to exist.
    let Place::Found(id) = context.find_any(&name)? else {
        return Ok(None);
    };
    let type_id = context.catalog.known.user_password.type_id;
    if !context
        .decide(Right::Authenticate, &name, Some(type_id))
        .allowed
    {
        return Ok(None);
    }
    let Some(entry) = context.reached(id)? else {
        return Ok(None);
    };
    let spelled = entry.spelled_name()?;
    Ok(Some(Candidate {
        entry: id,
        subject: context.subject.authenticated(name, spelled, Proof::Simple),
        stored: passwords_of(&entry),
    }))
}

pub(super) fn invalid_credentials<T>() -> Result<T, Stop> {
    // One result for a missing entry and a wrong password, so that neither is revealed.
    Stop::refuse(ResultCode::INVALID_CREDENTIALS, "")
}

/// The authorization identity response control (RFC 3829 §4); empty unless `asked`.
fn identity(subject: &Subject, asked: bool) -> Vec<OwnedControl> {
    if !asked {
        return Vec::new();
    }
    let tells = |out: &mut Vec<u8>| out.extend_from_slice(subject.authzid().as_bytes());
    let oid = oid::AUTHORIZATION_IDENTITY_RESPONSE;
    vec![OwnedControl::with_value(oid, false, tells)]
}
