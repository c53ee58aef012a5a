//! Bind (RFC 4511 §4.2, RFC 4513): who is it, and is it true?

use crate::bound::Bound;
use crate::context::{Context, Place, VisibleEntry};
use crate::flow::CheckPurpose;
use crate::hashing::PasswordJob;
use crate::operation::policed::{Case, Verdict};
use crate::operation::sasl;
use crate::paging::CookieKey;
use crate::session::Peer;
use crate::writer::Writer;
use policy::password::{self, Cost, Scheme};
use policy::{Authentication as Proof, Right, Subject, Tag, VerifiedCache};
use protocol::{Authentication, BindRequest, OwnedControl, ResultCode, oid};
use schema::Name;
use state::stop::Stop;
use store::EntryId;

/// How a bind goes on.
pub(crate) enum Outcome {
    /// It succeeded: the session acts as this subject from now on. With the account, where it was
    /// looked at already.
    Accepted(Box<Subject>, Option<Box<Bound>>),
    /// A password policy has decided.
    Judged(Box<Verdict>),
    /// The password's hash is slow: check it elsewhere, then come back.
    Check(PasswordJob),
    /// The mechanism has to say this first; the next bind goes on from there.
    Challenge(Vec<u8>, Box<sasl::Exchange>),
}

/// What a bind works with.
pub(crate) struct Desk<'d> {
    pub peer: &'d Peer,
    pub verified: &'d VerifiedCache,
    /// Wrong passwords that were counted lately.
    pub wrong: &'d VerifiedCache,
    pub writer: &'d Writer,
    /// How new passwords are kept.
    pub scheme: Scheme,
    /// Whether clients are told that an account is locked.
    pub tells_locks: bool,
    pub cookie_key: &'d CookieKey,
    pub now_us: u64,
}

/// What the client wants to be told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Who it has become (RFC 3829).
    pub identity: bool,
    /// What the password policy says.
    pub policy: bool,
}

/// Decides a bind request. The session is anonymous while it runs (RFC 4511 §4.2.1).
pub(crate) fn bind(
    context: &Context<'_>,
    desk: &Desk<'_>,
    request: &BindRequest<'_>,
    (asked, begun): (Asked, Option<Box<sasl::Exchange>>),
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
                asked,
            };
            simple(context, desk, &given)
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
            sasl::bind(context, desk, &given, begun)
        }
        Authentication::Unknown(tag) => Stop::refuse(
            ResultCode::AUTH_METHOD_NOT_SUPPORTED,
            format!("authentication choice [{tag}] is not known; use simple or sasl"),
        ),
    }
}

/// What a bind with a name and a password brings.
pub(super) struct Given<'r> {
    pub name: &'r str,
    pub password: &'r [u8],
    pub asked: Asked,
}

pub(super) fn simple(
    context: &Context<'_>,
    desk: &Desk<'_>,
    given: &Given<'_>,
) -> Result<Outcome, Stop> {
    let (peer, name) = (desk.peer, given.name);
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
    let Some(candidate) = candidate(context, resolved)? else {
        return Ok(refused(desk, given.password, Verdict::plain(None)));
    };
    if let Some(case) = Case::of(context, desk, candidate.entry)? {
        return Ok(policed(case, candidate, given));
    }
    let Candidate {
        entry,
        subject,
        stored,
    } = candidate;
    Ok(match try_values(desk, entry, &stored, given.password) {
        Tried::Right => {
            let bound = Bound::by_password(context, entry, &stored);
            Outcome::Accepted(Box::new(subject), Some(bound))
        }
        Tried::Wrong | Tried::Nothing => refused(desk, given.password, Verdict::plain(None)),
        Tried::Slow(stored) => slow_check(desk, (entry, subject), stored, given),
    })
}

/// As [`simple`], for an account that has a password policy.
#[cold]
fn policed(mut case: Case<'_>, candidate: Candidate<'_>, given: &Given<'_>) -> Outcome {
    let Candidate {
        entry,
        subject,
        stored,
    } = candidate;
    let desk = case.desk;
    let guess = desk.guess(entry, given.password);
    // Under a lock no password is looked at.
    let tried = match case.is_locked() {
        true => Tried::Wrong,
        false => try_values(desk, entry, &stored, given.password),
    };
    let mut judge = |subject: Subject, matched| {
        judged(&mut case, Box::new(subject), (guess, matched), given.asked)
    };
    match tried {
        Tried::Right => Outcome::Judged(Box::new(judge(subject, true))),
        Tried::Wrong => refused(desk, given.password, judge(subject, false)),
        Tried::Nothing => refused(desk, given.password, Verdict::plain(None)),
        Tried::Slow(stored) => slow_check(desk, (entry, subject), stored, given),
    }
}

/// The end of a bind that is refused without a slow check: it waits for a check that is as slow as
/// that of a password under the default scheme, so that the time of an answer does not tell whether
/// the name is that of an account.
#[cold]
pub(super) fn refused(desk: &Desk<'_>, password: &[u8], verdict: Verdict) -> Outcome {
    let verdict = Box::new(verdict);
    match desk.scheme.cost() {
        Cost::Fast => Outcome::Judged(verdict),
        Cost::Slow => Outcome::Check(PasswordJob {
            entry: 0,
            stored: Vec::new(),
            given: password.to_vec(),
            purpose: CheckPurpose::Refused(verdict),
        }),
    }
}

/// Decides a bind as the policy of its account says.
fn judged(
    case: &mut Case<'_>,
    subject: Box<Subject>,
    (guess, matched): (Tag, bool),
    asked: Asked,
) -> Verdict {
    match &subject.name {
        Some(name) => {
            let judgement = case.judge((name, &subject.dn), guess, matched);
            judgement.of_bind(subject, asked.policy)
        }
        // Nobody's name is nobody's account.
        None => Verdict::plain(None),
    }
}

impl Desk<'_> {
    /// What a password tried on an entry is known by, wrong as it may be.
    pub fn guess(&self, entry: EntryId, given: &[u8]) -> Tag {
        self.wrong.tag(entry.0, b"", given)
    }
}

/// What trying a password came to.
pub(crate) enum Tried {
    Right,
    Wrong,
    /// There is no password.
    Nothing,
    /// These values have to be checked elsewhere.
    Slow(Vec<Vec<u8>>),
}

/// Tries a password on those of the stored values that can be checked fast.
#[inline]
pub(super) fn try_values(desk: &Desk<'_>, entry: EntryId, stored: &[&[u8]], given: &[u8]) -> Tried {
    let verified = desk.verified;
    if given.len() > password::PASSWORD_OCTETS_MAX && !stored.is_empty() {
        return Tried::Wrong;
    }
    let now_ms = desk.now_us / 1_000;
    let mut tried = match stored.is_empty() {
        true => Tried::Nothing,
        false => Tried::Wrong,
    };
    let mut slow = Vec::new();
    for value in stored {
        match password::cost(value) {
            Cost::Fast if password::verify(value, given) => return Tried::Right,
            Cost::Fast => {}
            Cost::Slow if verified.contains(verified.tag(entry.0, value, given), now_ms) => {
                return Tried::Right;
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
    desk: &Desk<'_>,
    (entry, subject): (EntryId, Subject),
    stored: Vec<Vec<u8>>,
    given: &Given<'_>,
) -> Outcome {
    Outcome::Check(PasswordJob {
        entry: entry.0,
        stored,
        given: given.password.to_vec(),
        purpose: CheckPurpose::Bind {
            subject: Box::new(subject),
            asked: given.asked,
            guess: desk.guess(entry, given.password),
        },
    })
}

/// Decides a bind whose slow check has ended, by the state as it is now: others may have tried in
/// between.
pub(crate) fn checked(
    context: &Context<'_>,
    desk: &Desk<'_>,
    (id, subject): (EntryId, Box<Subject>),
    asked: Asked,
    tried: (Tag, bool),
) -> Result<Verdict, Stop> {
    match Case::of(context, desk, id)? {
        Some(mut case) => Ok(judged(&mut case, subject, tried, asked)),
        None => Ok(Verdict::plain(tried.1.then_some(subject))),
    }
}

/// Whether the stored value that a slow check found right is still what a subject binds with: its
/// password may have changed meanwhile, and its entry have gone or got another name.
pub(crate) fn still_keeps(
    context: &Context<'_>,
    id: EntryId,
    subject: &Subject,
    stored: Option<Vec<u8>>,
) -> Result<bool, Stop> {
    let (Some(stored), Some(name)) = (stored, &subject.name) else {
        return Ok(false);
    };
    let now = candidate(context, name.clone())?;
    Ok(now.is_some_and(|it| it.entry == id && it.stored.contains(&&stored[..])))
}

/// Who a name would become with the right password.
pub(super) struct Candidate<'c> {
    /// The entry that keeps the password.
    pub entry: EntryId,
    pub subject: Subject,
    /// The values of userPassword; none where there is no password.
    pub stored: Vec<&'c [u8]>,
}

/// The candidate of a name; `None` when no entry has the name, or the rules let nobody
/// authenticate as it.
pub(super) fn candidate<'c>(
    context: &'c Context<'_>,
    name: Name,
) -> Result<Option<Candidate<'c>>, Stop> {
    if let Some(administrator) = &context.catalog.administrator
        && administrator.name == name
    {
        let spelled = administrator.spelled.clone();
        let subject = context.subject.administrator(name, spelled, Proof::Simple);
        return Ok(Some(Candidate {
            entry: administrator.entry,
            subject,
            stored: stored_passwords(context, administrator.entry)?,
        }));
    }
    let Place::Found(id) = context.find(&name)? else {
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

/// The stored values of userPassword.
pub(crate) fn stored_passwords<'c>(
    context: &'c Context<'_>,
    id: EntryId,
) -> Result<Vec<&'c [u8]>, Stop> {
    let entry = context.reached(id)?;
    Ok(entry.map_or_else(Vec::new, |it| passwords_of(&it)))
}

fn passwords_of<'c>(entry: &VisibleEntry<'_, 'c>) -> Vec<&'c [u8]> {
    let attribute = entry.internal(entry.catalog().known.user_password.number);
    attribute.map_or_else(Vec::new, |it| it.values().into_iter().collect())
}

pub(super) fn invalid_credentials<T>() -> Result<T, Stop> {
    // The same words whether the entry is missing or the password wrong: no hint which.
    Stop::refuse(ResultCode::INVALID_CREDENTIALS, "")
}

/// The control that tells who the client has become (RFC 3829 §4), if it asked.
pub(crate) fn identity(subject: &Subject, asked: bool) -> Vec<OwnedControl> {
    if !asked {
        return Vec::new();
    }
    let tells = |out: &mut Vec<u8>| out.extend_from_slice(subject.authzid().as_bytes());
    let oid = oid::AUTHORIZATION_IDENTITY_RESPONSE;
    vec![OwnedControl::with_value(oid, false, tells)]
}
