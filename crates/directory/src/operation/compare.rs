//! Compare (RFC 4511 §4.10). A compare on a hashed password verifies it (RFC 3112 §3), so that a
//! stolen hash is of no use as an assertion value. The account's password policy counts it as a
//! bind (draft-behera-ldap-password-policy-11 §8.1).

use crate::account::bind_state::BindState;
use crate::account::check::{CheckPurpose, Compared, TriedPassword};
use crate::account::hashing::{PasswordJob, Work};
use crate::account::passwords;
use crate::account::policed::{AccountName, Case, Judgement};
use crate::account::rehash;
use crate::call::Call;
use crate::context::{Context, Place};
use crate::control::{Controls, Envelope, position};
use crate::flow::Flow;
use crate::operation::bind;
use crate::operation::bind::Tried;
use crate::search::call::SearchCall;
use crate::search::virtual_search;
use crate::session::Session;
use policy::{Right, Subject};
use protocol::{
    CompareRequest, LdapResult, MessageId, OwnedControl, ResultCode, ResultKind, response,
};
use schema::{Description, Name, Truth, ValueSource};
use state::catalog::Catalog;
use state::knowledge::DYNAMIC_GROUP_CLASS;
use state::stop::Stop;
use state::view::View;
use state::virtual_entry::VirtualEntry;
use state::{assertion, referral, values};
use zeroize::Zeroizing;

/// Result of the first step of a compare.
pub(crate) enum Outcome {
    True,
    False,
    /// The password policy of the account has decided.
    Judged(Judgement),
    /// The hash is slow: the caller verifies it on a hashing thread, then calls [`checked`].
    Check(PasswordJob),
}

/// Compares, or begins the slow check of a password.
#[inline]
pub(crate) fn begin(
    call: &Call<'_>,
    context: &Context<'_>,
    session: &Session,
    request: &CompareRequest<'_>,
    envelope: &Envelope<'_>,
    out: &mut Vec<u8>,
) -> Result<Flow, Stop> {
    let Envelope { id, controls, .. } = *envelope;
    let search_call = &SearchCall {
        call,
        session,
        limits: session.limits,
    };
    let bind_state = || BindState::of(call, &session.peer);
    let outcome = compare(context, bind_state, search_call, request, controls)?;
    let told = position::told(call, context, controls.position.is_some())?;
    if let Outcome::Check(mut job) = outcome {
        if let CheckPurpose::Compare(compared) = &mut job.purpose {
            compared.controls = told;
        }
        call.hash(session, id, Work::Verify(job))?;
        return Ok(Flow::Waiting);
    }
    end(id, &outcome, controls.password_policy, told, out);
    Ok(Flow::Done)
}

/// Writes the response to a compare that was decided. `asks_policy` says whether the client sent
/// the password policy control; `controls` are response controls whatever the result.
pub(crate) fn end(
    id: MessageId,
    outcome: &Outcome,
    asks_policy: bool,
    mut controls: Vec<OwnedControl>,
    out: &mut Vec<u8>,
) {
    let is_true = match outcome {
        Outcome::True => true,
        Outcome::Judged(judgement) => {
            controls.extend(judgement.control(asks_policy));
            judgement.accepted
        }
        Outcome::False | Outcome::Check(_) => false,
    };
    let code = match is_true {
        true => ResultCode::COMPARE_TRUE,
        false => ResultCode::COMPARE_FALSE,
    };
    let result = LdapResult::new(code, "");
    response::write_result(out, id, ResultKind::Compare, &result, &controls);
}

/// Decides a compare request. `bind_state` is called only if a password is compared.
fn compare<'d>(
    context: &Context<'_>,
    bind_state: impl Fn() -> BindState<'d>,
    call: &SearchCall<'_>,
    request: &CompareRequest<'_>,
    controls: &Controls<'_>,
) -> Result<Outcome, Stop> {
    let catalog = context.catalog;
    let mut last_name = call.last_name.borrow_mut();
    let name = last_name.resolve(catalog, request.entry)?;
    let description = values::describe(&catalog.schema, request.attribute)?;
    let is_password = is_password(catalog, call, &description)?;
    if let Some(entry) = virtual_search::entry_of(context, call, name)? {
        context.require(Right::Compare, name, Some(description.type_id))?;
        if let Some(condition) = controls.assertion {
            assertion::require_of_virtual(context, &entry, condition, &|| call.now_s())?;
        }
        return compare_virtual(catalog, &entry, &description, request);
    }
    let id = stored_target(context, name, request, controls)?;
    require_compare(context, name, &description)?;
    if let Some(condition) = controls.assertion {
        assertion::require(context, id, condition, &|| call.now_s())?;
    }
    if is_password {
        let (bind_state, policy) = (bind_state(), controls.password_policy);
        return compare_password(
            context,
            &bind_state,
            id,
            name,
            &description,
            request,
            policy,
        );
    }
    // Rules may give the right to compare what may not be searched or read. Groups are those that
    // the subject may know of.
    if context.is_ruled() && context.reach_of(description.type_id).is_none() {
        let server = Subject::server();
        let open = context.of_server(&server);
        return compare_stored(&open, id, &description, request);
    }
    compare_stored(context, id, &description, request)
}

/// Compares with the values that a view shows of a stored entry.
fn compare_stored(
    view: &View<'_>,
    id: store::EntryId,
    description: &Description,
    request: &CompareRequest<'_>,
) -> Result<Outcome, Stop> {
    let catalog = view.catalog;
    let Some(entry) = view.reached(id)? else {
        return Err(view.no_such_object(None)?.into());
    };
    if view.reach_of(description.type_id).is_some() {
        view.require_groups(request.attribute)?;
    }
    let filter = asserted(catalog, request)?;
    // Evaluated in one piece, within the limit on undivided walks.
    if let Outcome::True = entry.tested(|it| outcome(catalog, &filter, it))? {
        return Ok(Outcome::True);
    }
    let exists = entry.tested(|it| {
        let mut exists = false;
        for number in catalog.schema.selected_numbers(description) {
            exists |= it.any_value(number, &mut |_| true).is_some();
        }
        exists | (it.any_virtual(description.type_id, &mut |_| true)).is_some()
    })?;
    if !exists
        && description.type_id == catalog.computed.member
        && entry.has_class(DYNAMIC_GROUP_CLASS)
        && let schema::Filter::Equality(member) = &filter
    {
        return compare_member(view, id, &Name::from_bytes(&member.normal));
    }
    if !exists {
        return no_such_attribute(request);
    }
    Ok(Outcome::False)
}

/// Refuses unless the subject may compare the attribute, and each subtype that has values.
fn require_compare(
    context: &Context<'_>,
    name: &Name,
    description: &Description,
) -> Result<(), Stop> {
    context.require(Right::Compare, name, Some(description.type_id))?;
    if !context.is_ruled() {
        return Ok(());
    }
    let schema = &context.catalog.schema;
    for number in schema.selected_numbers(description) {
        let type_id = schema.known(number).map(|it| it.type_id);
        if type_id != Some(description.type_id) {
            context.require(Right::Compare, name, type_id)?;
        }
    }
    Ok(())
}

/// The stored entry of a compare request. Refuses a referral object and a name that no entry has.
fn stored_target(
    context: &Context<'_>,
    name: &Name,
    request: &CompareRequest<'_>,
    controls: &Controls<'_>,
) -> Result<store::EntryId, Stop> {
    let catalog = context.catalog;
    let refers = catalog.has_referrals && !controls.manage_dsa_it;
    match context.find(name)? {
        Place::Found(id) => {
            if refers {
                referral::refuse_if_referral(context, id, request.entry, None, None)?;
            }
            Ok(id)
        }
        Place::Missing { matched, depth } => {
            if let Some(above) = matched.filter(|_| refers) {
                referral::refuse_if_referral(context, above, request.entry, Some(depth), None)?;
            }
            referral::refer_upwards(catalog, name, request.entry, None)?;
            Err(context.no_such_object(matched)?.into())
        }
    }
}

/// Whether the attribute is a password, which must not be sent in the clear.
fn is_password(
    catalog: &Catalog,
    call: &SearchCall<'_>,
    description: &Description,
) -> Result<bool, Stop> {
    let is_password = description.type_id == catalog.known.user_password.type_id;
    if is_password {
        passwords::refuse_exposed(&call.session.peer)?;
    }
    Ok(is_password)
}

/// Decides a compare on an entry that is not stored.
fn compare_virtual(
    catalog: &Catalog,
    entry: &VirtualEntry,
    description: &Description,
    request: &CompareRequest<'_>,
) -> Result<Outcome, Stop> {
    let filter = asserted(catalog, request)?;
    if entry.of_type(description.type_id).next().is_none() {
        return no_such_attribute(request);
    }
    Ok(outcome(catalog, &filter, entry))
}

/// The assertion as a filter; refuses one that cannot be decided.
fn asserted(catalog: &Catalog, request: &CompareRequest<'_>) -> Result<schema::Filter, Stop> {
    let filter = catalog.schema.resolve_filter(&protocol::Filter::Equality {
        attribute: request.attribute,
        value: request.value,
    });
    match filter {
        schema::Filter::Undefined(reason) => {
            // RFC 4511 Appendix A.2: the type has no equality rule, or the rule does not accept the
            // value.
            let described = catalog.schema.describe(request.attribute).ok();
            let rule = described.and_then(|it| catalog.schema.type_of(it.type_id).equality);
            let code = match rule {
                Some(_) => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
                None => ResultCode::INAPPROPRIATE_MATCHING,
            };
            Stop::refuse(code, reason)
        }
        filter => Ok(filter),
    }
}

fn outcome<E: ValueSource>(catalog: &Catalog, filter: &schema::Filter, entry: &E) -> Outcome {
    match filter.evaluate(&catalog.schema, entry, &mut Vec::new()) {
        Truth::True => Outcome::True,
        _ => Outcome::False,
    }
}

fn no_such_attribute(request: &CompareRequest<'_>) -> Result<Outcome, Stop> {
    Stop::refuse(
        ResultCode::NO_SUCH_ATTRIBUTE,
        format!("the entry has no {}", request.attribute),
    )
}

/// Decides a compare on `member` of a dynamic group, whose members are computed.
fn compare_member(view: &View<'_>, group: store::EntryId, member: &Name) -> Result<Outcome, Stop> {
    let is_member = match view.find(member)? {
        Place::Found(id) => view.is_dynamic_member(group, id)?,
        Place::Missing { .. } => false,
    };
    Ok(plain(is_member))
}

fn plain(matched: bool) -> Outcome {
    match matched {
        true => Outcome::True,
        false => Outcome::False,
    }
}

fn compare_password(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    id: store::EntryId,
    name: &Name,
    description: &Description,
    request: &CompareRequest<'_>,
    policy: bool,
) -> Result<Outcome, Stop> {
    let given = request.value;
    let guess = || bind_state.guess(id, given);
    let account = AccountName {
        name,
        spelled: request.entry,
    };
    // Nobody binds with values that have options, so no policy applies to them.
    let policed = description.options.is_empty();
    let mut case = match policed {
        true => Case::of(context, bind_state, id)?,
        false => None,
    };
    // A compare tells as much as a bind, so its guesses count as those of binds.
    let tried = TriedPassword {
        trial: bind_state.trial(name.bytes())?,
        given: Zeroizing::new(given.to_vec()),
    };
    if let Some(case) = &mut case
        && case.is_locked()
    {
        bind_state.settle(&tried, false);
        return Ok(Outcome::Judged(case.judge(account, guess(), false)));
    }
    let stored = stored(context, id, description)?;
    let matched = match bind::try_values(bind_state, id, &stored, given) {
        Tried::Right(_) => true,
        Tried::Wrong => false,
        Tried::Nothing => {
            return no_such_attribute(request);
        }
        Tried::Slow(stored) => {
            let compared = Compared {
                name: name.clone(),
                spelled: request.entry.to_owned(),
                description: description.clone(),
                guess: policed.then(guess),
                tried,
                policy,
                controls: Vec::new(),
            };
            return Ok(Outcome::Check(PasswordJob {
                entry: id.0,
                stored,
                given: Zeroizing::new(given.to_vec()),
                purpose: CheckPurpose::Compare(Box::new(compared)),
            }));
        }
    };
    bind_state.settle(&tried, matched);
    Ok(match (case, matched) {
        (Some(mut case), matched) => Outcome::Judged(case.judge(account, guess(), matched)),
        (None, matched) => plain(matched),
    })
}

/// The stored values of a description; with options these may be several attributes (RFC 4512
/// §2.5.2).
fn stored<'c>(
    context: &'c Context<'_>,
    id: store::EntryId,
    description: &Description,
) -> Result<Vec<&'c [u8]>, Stop> {
    if description.options.is_empty() {
        return passwords::stored_passwords(context, id);
    }
    let Some(entry) = context.reached(id)? else {
        return Ok(Vec::new());
    };
    let numbers = context.catalog.schema.selected_numbers(description);
    let attributes = numbers.into_iter().filter_map(|it| entry.internal(it));
    Ok(attributes.flat_map(|it| it.values().into_iter()).collect())
}

/// Decides a compare after its slow check, by the present state: the entry may be deleted or
/// renamed, and its password may have changed. `matched` is the stored value that the check found
/// right.
pub(crate) fn checked(
    context: &Context<'_>,
    bind_state: &BindState<'_>,
    id: store::EntryId,
    compared: &Compared,
    matched: Option<Vec<u8>>,
) -> Result<Outcome, Stop> {
    match context.find(&compared.name)? {
        Place::Found(now) if now == id => {}
        Place::Found(_) => return Ok(Outcome::False),
        Place::Missing { matched, .. } => return Err(context.no_such_object(matched)?.into()),
    }
    let stored = stored(context, id, &compared.description)?;
    let matched = matched.is_some_and(|it| rehash::keeps(bind_state.feed, id, &it, &stored));
    bind_state.settle(&compared.tried, matched);
    let Some(guess) = compared.guess else {
        return Ok(plain(matched));
    };
    Ok(match Case::of(context, bind_state, id)? {
        Some(mut case) => {
            let account = AccountName {
                name: &compared.name,
                spelled: &compared.spelled,
            };
            Outcome::Judged(case.judge(account, guess, matched))
        }
        None => plain(matched),
    })
}
