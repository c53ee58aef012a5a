//! Refuses anonymous requests where `pandoRequireAuthentication` in `cn=config` is TRUE. Requests
//! that a client needs in order to bind stay allowed: Bind, StartTLS, "Who am I?", and reading the
//! root DSE.

use policy::Subject;
use protocol::{Request, ResultCode, Scope, oid};
use state::catalog::Catalog;
use state::stop::Stop;

/// Refuses the request of an anonymous subject with `strongerAuthRequired`, as slapd does under
/// `require authc`. `request` is `None` for a later slice of a search.
#[inline]
pub(crate) fn require(
    catalog: &Catalog,
    subject: &Subject,
    request: Option<&Request<'_>>,
) -> Result<(), Stop> {
    match catalog.requires_authentication && subject.is_anonymous() {
        true => refuse(request),
        false => Ok(()),
    }
}

#[cold]
fn refuse(request: Option<&Request<'_>>) -> Result<(), Stop> {
    match request.is_some_and(is_open) {
        true => Ok(()),
        false => Stop::refuse(
            ResultCode::STRONGER_AUTH_REQUIRED,
            "authentication required: this directory answers nothing without a bind",
        ),
    }
}

/// Whether a request serves to find out how to bind, or ends an operation or the connection.
fn is_open(request: &Request<'_>) -> bool {
    match request {
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) => true,
        Request::Search(it) => it.base.is_empty() && it.scope == Scope::BaseObject,
        Request::Extended(it) => {
            matches!(it.name, oid::START_TLS | oid::WHO_AM_I | oid::CANCEL)
        }
        Request::Modify(_)
        | Request::Add(_)
        | Request::Delete(_)
        | Request::ModifyDn(_)
        | Request::Compare(_) => false,
    }
}
