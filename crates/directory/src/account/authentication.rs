//! Refuses requests that do not meet the conditions of `pandoRequire` and
//! `pandoRequireAuthentication` in `cn=config`. Requests that a client needs in order to meet them
//! stay allowed.

use crate::session::Session;
use policy::Subject;
use policy::requirements::{Approach, Requirement};
use protocol::{Request, ResultCode, Scope, oid};
use state::catalog::Catalog;
use state::stop::Stop;

/// Refuses a request that acts as `subject` with `strongerAuthRequired`, as slapd does under
/// `require authc`, or with `confidentialityRequired`. `request` is `None` for a later slice of a
/// search.
#[inline]
pub(crate) fn require(
    catalog: &Catalog,
    session: &Session,
    subject: &Subject,
    request: Option<&Request<'_>>,
) -> Result<(), Stop> {
    match catalog.requirements.are_none() {
        true => Ok(()),
        false => check(catalog, session, subject, request),
    }
}

#[cold]
fn check(
    catalog: &Catalog,
    session: &Session,
    subject: &Subject,
    request: Option<&Request<'_>>,
) -> Result<(), Stop> {
    let by = Approach {
        has_bound: session.has_bound,
        is_authenticated: !subject.is_anonymous() && !session.is_anonymous(),
        by_sasl: session.by_sasl,
        is_protected: session.peer.secure || session.peer.local,
    };
    let Some(unmet) = catalog.requirements.unmet(&by) else {
        return Ok(());
    };
    let code = match unmet {
        Requirement::Protection => ResultCode::CONFIDENTIALITY_REQUIRED,
        _ => ResultCode::STRONGER_AUTH_REQUIRED,
    };
    match request.is_some_and(|it| is_open(it, unmet)) {
        true => Ok(()),
        false => Stop::refuse(code, unmet.to_string()),
    }
}

/// Whether a request serves to meet a condition, or ends an operation or the connection. The root
/// DSE tells how.
fn is_open(request: &Request<'_>, unmet: Requirement) -> bool {
    match request {
        Request::Unbind | Request::Abandon(_) => true,
        // On a connection that others can read, nobody is to say who they are.
        Request::Bind(_) => unmet != Requirement::Protection,
        Request::Search(it) => it.base.is_empty() && it.scope == Scope::BaseObject,
        Request::Extended(it) => match it.name {
            oid::START_TLS | oid::CANCEL => true,
            oid::WHO_AM_I => unmet != Requirement::Protection,
            _ => false,
        },
        Request::Modify(_)
        | Request::Add(_)
        | Request::Delete(_)
        | Request::ModifyDn(_)
        | Request::Compare(_) => false,
    }
}
