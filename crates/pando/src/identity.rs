//! `pando identity`: the rules that map identities of other systems to entries, and which entry one
//! stands for.

use crate::channel::{Channel, refused};
use crate::cli::{IdentityAction, IdentityShow, IdentityTest};
use crate::report::{Problem, say};
use crate::schema::stored::published;
use policy::access::rules::Reach;
use policy::mapping::{Kind, Mapping, Outside, Sought};
use protocol::{
    DerefAliases, FILTER_DEPTH_MAX, Filter, Request, Response, ResponseMessage, ResultCode, Scope,
    SearchRequest,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;

/// The entry below which the rules are.
const CONTAINER: &str = "cn=identities,cn=config";

/// Runs the action.
pub fn identity(action: &IdentityAction) -> Result<(), Problem> {
    match action {
        IdentityAction::Show(it) => show(it),
        IdentityAction::Test(it) => test(it),
    }
}

/// A rule of a node.
struct Rule {
    /// Value of `cn`.
    name: String,
    order: String,
    text: String,
}

/// Prints the rules.
fn show(it: &IdentityShow) -> Result<(), Problem> {
    let mut channel = Channel::open(&it.dir)?;
    for rule in rules(&mut channel)? {
        let Rule { name, order, text } = rule;
        say(format_args!("{order} {name}\n  {text}"))?;
    }
    Ok(())
}

/// Says which entry an identity stands for.
fn test(it: &IdentityTest) -> Result<(), Problem> {
    let asked = asked(it)?;
    let mut channel = Channel::open(&it.dir)?;
    let rules = rules(&mut channel)?;
    let rules: Vec<(&str, &str)> = rules.iter().map(|it| (&*it.name, &*it.text)).collect();
    let schema = published(&mut channel)?;
    let mapping = Mapping::compile(&schema, &rules).map_err(Problem::failed)?;
    for (part, value) in &asked.parts {
        say(format_args!("{part}: {value}"))?;
    }
    let mapped = mapping.of(&schema, &asked).map_err(Problem::failed)?;
    let Some(mapped) = mapped else {
        return Err(Problem::failed("no rule matches the identity"));
    };
    say(format_args!("rule: {}", mapped.rule))?;
    let found = match &mapped.sought {
        Sought::Entry { name, .. } => {
            let text = name.to_string();
            find(
                &mut channel,
                &text,
                Scope::BaseObject,
                &Filter::Present("objectClass"),
            )?
        }
        Sought::Search {
            base,
            reach,
            filter,
        } => {
            let scope = match reach {
                Reach::Entry => Scope::BaseObject,
                Reach::One => Scope::SingleLevel,
                Reach::Children => Scope::Subordinate,
                Reach::Subtree => Scope::WholeSubtree,
            };
            let mut reader = protocol::ber::Reader::new(filter);
            let filter = Filter::decode(&mut reader, FILTER_DEPTH_MAX).map_err(Problem::failed)?;
            say(format_args!("filter: {filter}"))?;
            find(&mut channel, &base.to_string(), scope, &filter)?
        }
    };
    match &found[..] {
        [entry] => say(format_args!("entry: {entry}")),
        [] => Err(Problem::failed(
            "no entry matches, so the identity is refused",
        )),
        several => Err(Problem::failed(format_args!(
            "expected one entry, got {}: the identity is refused",
            several.len()
        ))),
    }
}

/// The identity that was given.
fn asked(it: &IdentityTest) -> Result<Outside<'static>, Problem> {
    if let Some(path) = &it.certificate {
        return of_certificate(path);
    }
    if let Some(uid) = it.unix {
        return Ok(Outside::of(Kind::Unix).with("uid", uid.to_string()));
    }
    if let Some(principal) = &it.kerberos {
        return Ok(Outside::of(Kind::Kerberos).with("principal", principal.clone()));
    }
    if let Some(name) = &it.sasl {
        return Ok(Outside::of(Kind::Sasl).with("name", name.clone()));
    }
    if let Some(path) = &it.token_file {
        let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
        let identity = sasl::token::unverified_claims(text.trim());
        return identity.map_err(|error| Problem::file(path, error));
    }
    let mut token = Outside::of(Kind::Token);
    for given in &it.token {
        let Some((claim, value)) = given.split_once('=') else {
            let text = format_args!("--token: expected CLAIM=VALUE, got {given}");
            return Err(Problem::usage(text));
        };
        token = token.with(claim.to_owned(), value.to_owned());
    }
    Ok(token)
}

fn of_certificate(path: &Path) -> Result<Outside<'static>, Problem> {
    let read = CertificateDer::from_pem_file(path).map_err(|error| Problem::file(path, error))?;
    let identity = Outside::of_certificate(&read);
    match identity.parts.is_empty() {
        true => Err(Problem::file(
            path,
            "expected a certificate with readable names",
        )),
        false => Ok(identity),
    }
}

/// The rules in their order.
fn rules(channel: &mut Channel) -> Result<Vec<Rule>, Problem> {
    let mut rules = Vec::new();
    let select = vec!["cn", "pandoIdentityOrder", "pandoIdentityText"];
    let filter = Filter::Present("pandoIdentityText");
    for answer in search(channel, CONTAINER, Scope::SingleLevel, &filter, select)? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        if let Response::SearchEntry { attributes, .. } = message.response {
            let first = |wanted: &str| {
                let found = attributes
                    .iter()
                    .find(|it| it.description.eq_ignore_ascii_case(wanted));
                let value = found.and_then(|it| it.values.into_iter().next());
                value.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned())
            };
            rules.push(Rule {
                name: first("cn"),
                order: first("pandoIdentityOrder"),
                text: first("pandoIdentityText"),
            });
        }
    }
    // Rules of equal places stay as they came, which is how the server takes them.
    rules.sort_by_key(|it| it.order.parse().unwrap_or(i64::MAX));
    Ok(rules)
}

/// The names of the entries that a search finds.
fn find(
    channel: &mut Channel,
    base: &str,
    scope: Scope,
    filter: &Filter<'_>,
) -> Result<Vec<String>, Problem> {
    let mut found = Vec::new();
    for answer in search(channel, base, scope, filter, vec!["1.1"])? {
        let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
        if let Response::SearchEntry { name, .. } = message.response {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

fn search(
    channel: &mut Channel,
    base: &str,
    scope: Scope,
    filter: &Filter<'_>,
    attributes: Vec<&str>,
) -> Result<Vec<Vec<u8>>, Problem> {
    let answers = channel.call(&Request::Search(SearchRequest {
        base,
        scope,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: filter.clone(),
        attributes,
    }))?;
    let last = answers.last().map(Vec::as_slice).unwrap_or_default();
    let message = ResponseMessage::decode(last).map_err(Problem::failed)?;
    match message.response {
        Response::SearchDone(result)
            if !matches!(
                result.code,
                ResultCode::SUCCESS | ResultCode::NO_SUCH_OBJECT
            ) =>
        {
            Err(refused(&result).about(base))
        }
        _ => Ok(answers),
    }
}
