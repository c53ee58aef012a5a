//! Questions of clients about access (the access explanation control), in the words of the
//! language of access rules.

use policy::Subject;
use policy::access::facts::{Asker, Origin};
use policy::access::hours::WeekMinute;
use policy::access::objects::Object;
use policy::access::right::Right;
use policy::access::words::{Use, Way, Ways};
use protocol::control::{AccessExplanation, AccessQuestion, AccessReason};
use protocol::{OwnedControl, ResultCode, oid};
use schema::Name;
use state::stop::Stop;
use state::view::{Claim, Explained, View};

/// Minutes in a week.
const WEEK_MINUTES: u32 = 7 * 24 * 60;
/// Seconds of Unix time at which a Monday began.
const MONDAY_S: i64 = 4 * 86_400;

/// Finds the identity that an authzId (RFC 4513 §5.2.1.8) names; `None` if there is none.
pub type Named<'n> = dyn Fn(&str) -> Result<Option<Subject>, Stop> + 'n;

/// The identity that would act, and the one that authenticated where it is another.
struct Identities {
    acting: Subject,
    real: Option<Subject>,
}

/// Answers a question about the entry of this name by the response control, if the client has the
/// use `explain` there: the answer shows rules, and facts about the subject and the entry.
///
/// # Errors
/// `insufficientAccessRights`; an identity that is not known; words that the language or the schema
/// does not know; the database cannot be read.
pub fn answer(
    view: &View<'_>,
    name: &Name,
    question: &AccessQuestion<'_>,
    named: &Named<'_>,
) -> Result<OwnedControl, Stop> {
    let refused = "no access rule gives you the use \"explain\" here";
    view.require_use(Use::Explain, name, refused)?;
    let subject = |identity: &str| match named(identity)? {
        Some(it) => Ok(it),
        None => Stop::refuse(
            ResultCode::NO_SUCH_OBJECT,
            format!("the identity \"{identity}\" is not known here"),
        ),
    };
    let identities = Identities {
        acting: subject(question.subject)?,
        real: question.real.map(subject).transpose()?,
    };
    let explained = explained(view, name, question, &identities)?;
    let encoded = |out: &mut Vec<u8>| encode(&explained, out);
    let control = OwnedControl::with_value(oid::ACCESS_EXPLANATION, false, encoded);
    Ok(control)
}

fn explained(
    view: &View<'_>,
    name: &Name,
    question: &AccessQuestion<'_>,
    identities: &Identities,
) -> Result<Explained, Stop> {
    let right = Right::ALL
        .into_iter()
        .find(|it| it.word() == question.right);
    let Some(right) = right else {
        return wrong("right", "a right such as read or add-value", question.right);
    };
    let object = match (right, question.object) {
        (Right::Use, word) => match Use::ALL.into_iter().find(|it| it.word() == word) {
            Some(found) => Object::Use(found),
            None => return wrong("object", "a use such as sync", word),
        },
        (_, "entry") => Object::Entry,
        (_, "children") => Object::Children,
        (_, word) => match view.catalog.schema.attribute_type(word) {
            Some(found) => Object::Attribute(found),
            None => return wrong("object", "entry, children or an attribute type", word),
        },
    };
    let claim = Claim {
        right,
        object,
        value: question.value,
    };
    view.explain_access(asker(view, question, identities)?, name, &claim)
}

/// The identity that asks, its address, its way of authentication and the time.
fn asker(
    view: &View<'_>,
    question: &AccessQuestion<'_>,
    identities: &Identities,
) -> Result<Asker, Stop> {
    let identity = |it: &Subject| it.asker(None).acting;
    let acting = identity(&identities.acting);
    let origin = match question.address {
        None => Origin::Unknown,
        Some("local") => Origin::Socket,
        Some(text) => match text.parse() {
            Ok(address) => Origin::Address(address),
            Err(_) => return wrong("address", "an IP address or local", text),
        },
    };
    let mut ways = match &question.ways {
        None => Ways::UNKNOWN,
        Some(words) => {
            let mut known = Vec::new();
            for word in words {
                match Way::ALL.into_iter().find(|it| it.word() == *word) {
                    Some(way) => known.push(way),
                    None => return wrong("ways", "ways such as tls", word),
                }
            }
            Ways::of(&known)
        }
    };
    if identities.real.is_some() {
        ways = ways.and(Way::Proxied);
    }
    let minute = match question.minute {
        None => i64::try_from(view.now_us() / 1_000_000)
            .ok()
            .map(WeekMinute::at),
        Some(it) if it < WEEK_MINUTES => Some(WeekMinute::at(MONDAY_S + 60 * i64::from(it))),
        Some(it) => return wrong("minute", "less than 10080", &it.to_string()),
    };
    Ok(Asker {
        real: identities
            .real
            .as_ref()
            .map_or_else(|| acting.clone(), identity),
        acting,
        origin,
        ways,
        minute,
    })
}

fn wrong<T>(part: &str, expected: &str, given: &str) -> Result<T, Stop> {
    let text = format!("access explanation control, {part}: expected {expected}, got \"{given}\"");
    Stop::refuse(ResultCode::PROTOCOL_ERROR, text)
}

fn encode(explained: &Explained, out: &mut Vec<u8>) {
    let reasons = explained.reasons.iter().map(|it| AccessReason {
        rule: &it.rule,
        clause: &it.clause,
        why: &it.why,
    });
    let value = AccessExplanation {
        allowed: explained.allowed,
        rule: &explained.rule,
        clause: &explained.clause,
        reasons: reasons.collect(),
        changes: explained.changes.iter().map(String::as_str).collect(),
    };
    value.encode(out);
}
