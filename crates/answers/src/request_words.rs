//! A request in words for the operations log and the audit: bounded in length, without the values
//! of secret attributes.

use protocol::sasl::Plain;
use protocol::{Authentication, ChangeOperation, Filter, Message, Request, Scope, oid};
use state::catalog::Catalog;
use std::fmt::{self, Write};

/// Maximum length in octets of a client's text in one field.
const TEXT_BYTES_MAX: usize = 1024;
/// Text shown instead of the value of a secret attribute.
const HIDDEN: &str = "[hidden]";

/// Fields of a log line that come from the request; `None` for fields that its kind does not have.
#[derive(Debug, Default)]
pub struct LoggedRequest {
    /// DN of the entry, or base of a search.
    pub dn: Option<String>,
    /// Scope of a search.
    pub scope: Option<&'static str>,
    /// Filter of a search.
    pub filter: Option<String>,
    /// Attributes of a modify or compare.
    pub attributes: Option<String>,
    /// New RDN of a modify DN.
    pub new_rdn: Option<String>,
    /// New superior of a modify DN.
    pub new_superior: Option<String>,
    /// Object identifier of an extended operation.
    pub name: Option<String>,
    /// Authentication method or SASL mechanism of a bind.
    pub mechanism: Option<String>,
    /// Authorization identity of proxied authorization (RFC 4370).
    pub acts_as: Option<String>,
    /// Attributes that a search selects. Only at the level `trace`.
    pub selected: Option<String>,
    /// Object identifiers of the controls. Only at the level `trace`.
    pub controls: Option<String>,
}

impl LoggedRequest {
    /// The fields of a request; `in_full` includes those of the level `trace`.
    pub fn of(catalog: &Catalog, message: &Message<'_>, in_full: bool) -> LoggedRequest {
        let words = Words(catalog);
        let mut asked = words.request(&message.request);
        let acts_as = |it: &&protocol::Control<'_>| it.oid == oid::PROXIED_AUTHORIZATION;
        asked.acts_as = message.controls.iter().find(acts_as).map(|it| {
            let identity = String::from_utf8_lossy(it.value.unwrap_or_default());
            match identity.strip_prefix("dn:") {
                Some(dn) => format!("dn:{}", words.dn(dn)),
                None => clip(&identity),
            }
        });
        if in_full {
            if let Request::Search(it) = &message.request {
                asked.selected = Some(list(it.attributes.iter().copied()));
            }
            asked.controls = Some(list(message.controls.iter().map(|it| it.oid)));
        }
        asked
    }
}

struct Words<'c>(&'c Catalog);

impl Words<'_> {
    fn request(&self, request: &Request<'_>) -> LoggedRequest {
        let mut asked = LoggedRequest::default();
        let dn = match request {
            Request::Bind(it) => {
                asked.mechanism = Some(mechanism(&it.authentication));
                match user(&it.authentication) {
                    Some(user) if it.name.is_empty() => return with_dn(asked, user),
                    _ => it.name,
                }
            }
            Request::Search(it) => {
                asked.scope = Some(scope(it.scope));
                asked.filter = Some(print(self.masked(&it.filter)));
                it.base
            }
            Request::Modify(it) => {
                let changes = it.changes.iter();
                let name = |it: &protocol::Change<'_>| {
                    format!("{} {}", change(it.operation), it.attribute.description)
                };
                asked.attributes = Some(list(changes.map(name)));
                it.object
            }
            Request::Add(it) => it.entry,
            Request::Delete(it) => it.entry,
            Request::ModifyDn(it) => {
                asked.new_rdn = Some(self.dn(it.new_rdn));
                asked.new_superior = it.new_superior.map(|it| self.dn(it));
                it.entry
            }
            Request::Compare(it) => {
                asked.attributes = Some(clip(it.attribute));
                it.entry
            }
            Request::Extended(it) => {
                asked.name = Some(clip(it.name));
                return asked;
            }
            Request::Unbind | Request::Abandon(_) => return asked,
        };
        let dn = self.dn(dn);
        with_dn(asked, dn)
    }

    /// The DN, or [`HIDDEN`] if it contains a value of a secret attribute.
    fn dn(&self, dn: &str) -> String {
        let is_secret = protocol::parse_name(dn).is_ok_and(|name| {
            let mut values = name.rdns.iter().flat_map(|it| it.values.iter());
            values.any(|it| self.is_secret(it.attribute))
        });
        match is_secret {
            true => HIDDEN.to_owned(),
            false => clip(dn),
        }
    }

    fn is_secret(&self, description: &str) -> bool {
        let name = description.split(';').next().unwrap_or_default();
        let known = self.0.schema.attribute_type(name);
        known.is_some_and(|it| self.0.access.secrets().contains(it))
    }

    /// The filter with [`HIDDEN`] instead of values of secret attributes. The decoder has limited
    /// its depth.
    fn masked<'f>(&self, filter: &Filter<'f>) -> Filter<'f> {
        let all = |them: &[Filter<'f>]| them.iter().map(|it| self.masked(it)).collect();
        let attribute = match filter {
            Filter::And(them) => return Filter::And(all(them)),
            Filter::Or(them) => return Filter::Or(all(them)),
            Filter::Not(it) => return Filter::Not(Box::new(self.masked(it))),
            Filter::Present(_) | Filter::Unrecognised { .. } => return filter.clone(),
            Filter::Equality { attribute, .. }
            | Filter::Substrings { attribute, .. }
            | Filter::GreaterOrEqual { attribute, .. }
            | Filter::LessOrEqual { attribute, .. }
            | Filter::Approx { attribute, .. } => *attribute,
            Filter::Extensible { attribute, .. } => attribute.unwrap_or_default(),
        };
        match self.is_secret(attribute) {
            true => Filter::Equality {
                attribute,
                value: HIDDEN.as_bytes(),
            },
            false => filter.clone(),
        }
    }
}

fn with_dn(asked: LoggedRequest, dn: String) -> LoggedRequest {
    LoggedRequest {
        dn: Some(dn),
        ..asked
    }
}

fn mechanism(authentication: &Authentication<'_>) -> String {
    match authentication {
        Authentication::Simple(_) => "simple".to_owned(),
        Authentication::Sasl { mechanism, .. } => clip(mechanism),
        Authentication::Unknown(tag) => format!("unknown, 0x{tag:02x}"),
    }
}

/// The user that SASL PLAIN names, or what the client says of itself by ANONYMOUS; `None` for other
/// methods.
fn user(authentication: &Authentication<'_>) -> Option<String> {
    match authentication {
        Authentication::Sasl {
            mechanism,
            credentials: Some(credentials),
        } if mechanism.eq_ignore_ascii_case("PLAIN") => {
            let plain = Plain::decode(credentials).ok()?;
            Some(clip(plain.authentication))
        }
        Authentication::Sasl {
            mechanism,
            credentials: Some(credentials),
        } if mechanism.eq_ignore_ascii_case("ANONYMOUS") => {
            sasl::anonymous::trace(credentials).ok().map(clip)
        }
        _ => None,
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::BaseObject => "base",
        Scope::SingleLevel => "one",
        Scope::WholeSubtree => "sub",
        Scope::Subordinate => "children",
    }
}

fn change(operation: ChangeOperation) -> &'static str {
    match operation {
        ChangeOperation::Add => "add",
        ChangeOperation::Delete => "delete",
        ChangeOperation::Replace => "replace",
        ChangeOperation::Increment => "increment",
    }
}

/// The texts, separated by commas.
fn list<T: fmt::Display>(texts: impl Iterator<Item = T>) -> String {
    let mut all = Clipped::default();
    for (at, text) in texts.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        if write!(all, "{comma}{text}").is_err() {
            break;
        }
    }
    all.0
}

/// A client's text, cut to the maximum length.
pub fn clip(text: &str) -> String {
    print(text)
}

fn print(it: impl fmt::Display) -> String {
    let mut text = Clipped::default();
    // Fails when the maximum length is reached.
    let _ = write!(text, "{it}");
    text.0
}

/// Text of at most [`TEXT_BYTES_MAX`] octets, with a mark if it was cut.
#[derive(Default)]
struct Clipped(String);

impl Write for Clipped {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = TEXT_BYTES_MAX.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|at| text.is_char_boundary(*at));
        self.0.push_str(&text[..end.unwrap_or_default()]);
        self.0.push('…');
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_clipped_between_characters() {
        assert_eq!(clip("cn=ada"), "cn=ada");
        let long = "é".repeat(TEXT_BYTES_MAX);
        let clipped = clip(&long);
        assert!(clipped.ends_with("é…") && clipped.len() <= TEXT_BYTES_MAX + 3);
        let many = (0..100_000).map(|at| format!("attribute-{at}"));
        assert!(list(many).len() <= TEXT_BYTES_MAX + 3);
    }
}
