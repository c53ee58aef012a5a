//! The claims of a token whose signature is right: whether they hold here and now (RFC 7519 §4.1).

use policy::mapping::{Kind, Outside};
use serde_json::{Map, Value};

use super::{Fault, Proved, Terms};

/// Checks the claims at a time in seconds since 1970.
pub(super) fn check<'t>(
    terms: &'t Terms,
    claims: &Map<String, Value>,
    now_s: u64,
) -> Result<Proved<'t>, Fault> {
    if claims.get("iss").and_then(Value::as_str) != Some(&terms.issuer) {
        return Err(Fault::invalid("iss: expected the issuer's name"));
    }
    let audience = claims.get("aud").map(texts).unwrap_or_default();
    if !audience
        .iter()
        .any(|it| terms.audience.iter().any(|own| own == it))
    {
        return Err(Fault::invalid(format!(
            "aud: not for this service, but for {audience:?}"
        )));
    }
    let skew_s = u64::from(terms.clock_skew_s);
    let Some(expiry_s) = time(claims, "exp")? else {
        return Err(Fault::invalid("exp: expected a time, got none"));
    };
    let end_s = expiry_s.saturating_add(skew_s);
    if now_s >= end_s {
        return Err(Fault::invalid(format!(
            "exp: the token expired at {expiry_s}"
        )));
    }
    for name in ["nbf", "iat"] {
        let from_s = time(claims, name)?.unwrap_or_default();
        if from_s > now_s.saturating_add(skew_s) {
            return Err(Fault::invalid(format!(
                "{name}: the token is valid from {from_s} on"
            )));
        }
    }
    let scopes = scopes(claims);
    if !terms.scopes.iter().all(|it| scopes.contains(&it.as_str())) {
        return Err(Fault::Scope);
    }
    Ok(Proved {
        identity: identity(claims),
        end_s,
        terms,
    })
}

/// The claims as parts of an identity: texts, numbers and truth values, one by one where a claim
/// has several. Claims of other forms have no patterns.
pub(super) fn identity(claims: &Map<String, Value>) -> Outside<'static> {
    let mut identity = Outside::of(Kind::Token);
    for (name, value) in claims {
        let one = std::slice::from_ref(value);
        for value in value.as_array().map_or(one, Vec::as_slice) {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => continue,
            };
            identity = identity.with(name.clone(), text);
        }
    }
    identity
}

/// The texts of a claim that is a text or a list of texts.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The scopes of a token: `scope` (RFC 8693 §4.2), or `scp` as some issuers name it.
fn scopes(claims: &Map<String, Value>) -> Vec<&str> {
    let given = ["scope", "scp"].into_iter().filter_map(|it| claims.get(it));
    given
        .flat_map(texts)
        .flat_map(str::split_whitespace)
        .collect()
}

/// A time in seconds since 1970 (RFC 7519 §2), which may have a fraction; `None` without the claim.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, Fault> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_u64().or_else(|| {
        let seconds = value.as_f64()?;
        (0.0..=9e15).contains(&seconds).then_some(seconds as u64)
    });
    match seconds {
        Some(seconds) => Ok(Some(seconds)),
        None => Err(Fault::invalid(format!(
            "{name}: expected seconds since 1970, got {value}"
        ))),
    }
}
