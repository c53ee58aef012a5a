//! Requests that a serving thread refuses while others wait for it too long.
//!
//! Refused are the requests that are many, cost most, and are missed least: searches and compares,
//! those of anonymous clients first. Binds, writes, Abandon, Unbind, everything of the
//! administrator, and searches that follow the directory are carried out in any case.

use crate::limit::Limit;
use crate::subject::Subject;
use protocol::{LdapResult, Message, Request, ResultCode, oid};

/// How much a serving thread is overloaded.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Requests are carried out.
    #[default]
    None,
    /// Searches and compares of anonymous clients are refused.
    Anonymous,
    /// Searches and compares of all clients but the administrator are refused.
    Users,
}

impl Pressure {
    /// The refusal of a request, which is counted; `None` if it is to be carried out.
    #[inline]
    pub fn refusal(self, subject: &Subject, message: &Message<'_>) -> Option<LdapResult> {
        match self {
            Pressure::None => None,
            _ if self.spares(subject, message) => None,
            _ => Some(refusal()),
        }
    }

    fn spares(self, subject: &Subject, message: &Message<'_>) -> bool {
        match message.request {
            Request::Search(_) | Request::Compare(_) if subject.is_anonymous() => false,
            Request::Search(_) | Request::Compare(_) => {
                self < Pressure::Users || subject.is_administrator() || follows(message)
            }
            _ => true,
        }
    }
}

/// Whether a search keeps a copy of the directory.
fn follows(message: &Message<'_>) -> bool {
    let mut controls = message.controls.iter();
    controls.any(|it| [oid::SYNC_REQUEST, oid::PERSISTENT_SEARCH].contains(&it.oid))
}

#[cold]
fn refusal() -> LdapResult {
    Limit::QueueDelay.count();
    let text = format!(
        "the server has more requests than it can answer in time ({}): try again later",
        Limit::QueueDelay.name()
    );
    LdapResult::new(ResultCode::BUSY, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Authentication;
    use protocol::{DecodeLimits, Filter, OwnedControl, Scope, SearchRequest};
    use schema::Schema;

    fn encoded(request: &Request<'_>, controls: &[OwnedControl]) -> Vec<u8> {
        let mut out = Vec::new();
        protocol::write_request(&mut out, 1, request, controls);
        out
    }

    #[test]
    fn searches_of_strangers_are_refused_first() {
        let nobody = Subject::anonymous(None, true);
        let name = |dn| Schema::standard().resolve_name(dn).expect("a name");
        let way = Authentication::Simple;
        let user = nobody.authenticated(name("cn=user"), "cn=user".to_owned(), way);
        let admin = nobody.administrator(name("cn=admin"), "cn=admin".to_owned(), way);
        let subjects = [nobody, user, admin];
        let filter = Filter::Present("cn");
        let search = Request::Search(SearchRequest::new("dc=a", Scope::WholeSubtree, filter));
        let follows = OwnedControl {
            oid: oid::PERSISTENT_SEARCH.into(),
            critical: false,
            value: None,
        };
        let requests = [
            encoded(&search, &[]),
            encoded(&search, &[follows]),
            encoded(&Request::Abandon(7), &[]),
            encoded(&Request::Unbind, &[]),
        ];
        // By pressure and subject: whether each of the requests is carried out.
        let (all, rest) = ([true; 4], [false, false, true, true]);
        let expected = [
            (Pressure::None, [all, all, all]),
            (Pressure::Anonymous, [rest, all, all]),
            (Pressure::Users, [rest, [false, true, true, true], all]),
        ];
        for (pressure, spared) in expected {
            for (subject, spared) in subjects.iter().zip(spared) {
                for (request, spared) in requests.iter().zip(spared) {
                    let message = Message::decode(request, &DecodeLimits::DEFAULT);
                    let message = message.expect("it decodes");
                    let refused = pressure.refusal(subject, &message);
                    assert_eq!(refused.is_none(), spared, "{pressure:?} {message:?}");
                }
            }
        }
    }
}
