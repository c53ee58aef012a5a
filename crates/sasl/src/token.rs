//! Tokens of issuers: JSON Web Tokens (RFC 7519) that are signed with keys of an issuer, and say in
//! claims who somebody is.
//!
//! The issuer that a token names must be a configured one, and only its keys and algorithms are
//! tried. Algorithms with a shared secret and `none` are never used.

mod claims;
mod keys;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jsonwebtoken::{Algorithm, Validation};
use policy::mapping::Outside;
use serde_json::{Map, Value};

pub use keys::{KEY_SET_OCTETS_MAX, KeySet};

/// Maximum length of a token in octets.
pub const TOKEN_OCTETS_MAX: usize = 16 << 10;

/// The algorithms of signatures that an issuer may be allowed (RFC 7518 §3.1, RFC 8037 §3.1).
const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// An algorithm of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureAlgorithm(Algorithm);

impl std::str::FromStr for SignatureAlgorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ALGORITHMS.iter().find(|(name, _)| *name == text);
        found.map(|(_, it)| SignatureAlgorithm(*it)).ok_or_else(|| {
            let names: Vec<&str> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
            format!("expected one of {}, got \"{text}\"", names.join(", "))
        })
    }
}

/// The terms under which tokens of an issuer are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The issuer's name, as in the claim `iss`.
    pub issuer: String,
    /// Names of this service, one of which must be in the claim `aud`.
    pub audience: Vec<String>,
    /// The algorithms that its signatures may have.
    pub algorithms: Vec<SignatureAlgorithm>,
    /// Seconds by which clocks may differ.
    pub clock_skew_s: u32,
    /// Scopes that a token must have, all of them.
    pub scopes: Vec<String>,
    /// Address of the document that tells clients how to get a token; `None` to tell none.
    pub openid_configuration: Option<String>,
}

/// An issuer, with the keys that are known at present.
pub struct Issuer {
    terms: Terms,
    keys: ArcSwap<KeySet>,
    /// Called when a token names a key that is not known.
    wake: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// A token that was accepted.
#[derive(Debug)]
pub struct Proved<'t> {
    /// The claims, for identity rules.
    pub identity: Outside<'static>,
    /// The second since 1970 from which on the token is not accepted.
    pub end_s: u64,
    terms: &'t Terms,
}

impl<'t> Proved<'t> {
    /// The failure of a token whose claims stand for no entry that may bind. One reason for all
    /// such entries, so that none is revealed.
    pub fn is_nobodys(self) -> Failure<'t> {
        let why = "the token's claims stand for no entry that may bind";
        Failure {
            fault: Fault::invalid(why),
            terms: Some(self.terms),
        }
    }
}

/// The failure of a token that is not accepted. Its text is for the log, and for the holder of the
/// token.
#[derive(Debug)]
pub struct Failure<'t> {
    fault: Fault,
    /// The terms of the issuer that the token names, or of the first one.
    terms: Option<&'t Terms>,
}

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl Failure<'_> {
    /// The answer to the client (RFC 7628 §3.2.2), in JSON: the kind of the fault, and where to get
    /// another token.
    pub fn answer(&self) -> Vec<u8> {
        let mut told = Map::new();
        told.insert("status".to_owned(), Value::from(self.fault.code()));
        if let Some(terms) = self.terms {
            if !terms.scopes.is_empty() {
                told.insert("scope".to_owned(), Value::from(terms.scopes.join(" ")));
            }
            if let Some(address) = &terms.openid_configuration {
                let address = Value::from(address.as_str());
                told.insert("openid-configuration".to_owned(), address);
            }
        }
        Value::Object(told).to_string().into_bytes()
    }
}

/// The reason why a token is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// There is no token.
    Missing,
    /// The token is not valid; the text says why, for the log.
    Invalid(String),
    /// The token has not all scopes that are asked for.
    Scope,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Missing => f.write_str("expected a token, got none"),
            Fault::Invalid(why) => f.write_str(why),
            Fault::Scope => f.write_str("scope: the token has not all that the settings ask for"),
        }
    }
}

impl Fault {
    fn invalid(why: impl Into<String>) -> Fault {
        Fault::Invalid(why.into())
    }

    /// The code for the client (RFC 6750 §3.1).
    fn code(&self) -> &'static str {
        match self {
            Fault::Missing | Fault::Invalid(_) => "invalid_token",
            Fault::Scope => "insufficient_scope",
        }
    }
}

impl Issuer {
    /// An issuer without keys. `wake` is called when a token names a key that is not known.
    pub fn new(terms: Terms, wake: Box<dyn Fn() + Send + Sync>) -> Issuer {
        Issuer {
            terms,
            keys: ArcSwap::default(),
            wake,
        }
    }

    /// The terms under which its tokens are accepted.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The present keys.
    pub fn keys(&self) -> Arc<KeySet> {
        self.keys.load_full()
    }

    /// Uses other keys from now on.
    pub fn set_keys(&self, keys: Arc<KeySet>) {
        self.keys.store(keys);
    }

    /// Verifies a token of this issuer at a time in seconds since 1970.
    fn verify(&self, token: &str, now_s: u64) -> Result<Proved<'_>, Fault> {
        let header = jsonwebtoken::decode_header(token);
        let header =
            header.map_err(|error| Fault::invalid(format!("the token's header: {error}")))?;
        if header.crit.is_some() {
            let why = "the token's header has critical parameters, which are not known here";
            return Err(Fault::invalid(why));
        }
        let algorithm = header.alg;
        if !self
            .terms
            .algorithms
            .contains(&SignatureAlgorithm(algorithm))
        {
            return Err(Fault::invalid(format!(
                "the issuer's tokens are not signed by {algorithm:?} according to its settings"
            )));
        }
        let keys = self.keys.load();
        let candidates = match keys.find(header.kid.as_deref(), algorithm) {
            keys::Sought::Found(candidates) => candidates,
            keys::Sought::Unfit => {
                let why = "the issuer has no key for the token's algorithm and key identifier";
                return Err(Fault::invalid(why));
            }
            keys::Sought::Unknown => {
                (self.wake)();
                let id = header.kid.unwrap_or_default();
                return Err(Fault::invalid(format!(
                    "the issuer's key {id:?} is not known"
                )));
            }
        };
        let signature_only = signature_only(algorithm);
        let verified = candidates
            .into_iter()
            .map(|key| jsonwebtoken::decode::<Map<String, Value>>(token, key, &signature_only))
            .reduce(|found, next| found.or(next));
        match verified {
            Some(Ok(data)) => claims::check(&self.terms, &data.claims, now_s),
            Some(Err(error)) => Err(Fault::invalid(format!("the token: {error}"))),
            None => Err(Fault::invalid("the issuer has no keys")),
        }
    }
}

/// The claims of a token as identity rules see them, whoever has signed it and until whenever.
///
/// # Errors
/// The text is no signed JSON Web Token.
pub fn unverified_claims(token: &str) -> Result<Outside<'static>, String> {
    let read = unverified(token).map_err(|fault| fault.to_string())?;
    Ok(claims::identity(&read))
}

fn unverified(token: &str) -> Result<Map<String, Value>, Fault> {
    let read = jsonwebtoken::dangerous::insecure_decode::<Map<String, Value>>(token);
    let read =
        read.map_err(|error| Fault::Invalid(format!("expected a signed JSON Web Token: {error}")));
    read.map(|it| it.claims)
}

/// A verification of the signature alone: the claims are checked here, by the caller's clock.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

/// The issuers whose tokens are accepted.
#[derive(Debug, Default)]
pub struct Issuers(pub Vec<Arc<Issuer>>);

impl Issuers {
    /// Verifies a token at a time in seconds since 1970.
    ///
    /// # Errors
    /// The token is of no issuer here, or not accepted by the terms of its issuer.
    pub fn verify(&self, token: &str, now_s: u64) -> Result<Proved<'_>, Failure<'_>> {
        match self.issuer_of(token) {
            Ok(issuer) => issuer.verify(token, now_s).map_err(|fault| Failure {
                fault,
                terms: Some(&issuer.terms),
            }),
            Err(fault) => Err(Failure {
                fault,
                terms: self.0.first().map(|it| &it.terms),
            }),
        }
    }

    /// The issuer that a token names. No other claim is believed before its keys have verified it.
    fn issuer_of(&self, token: &str) -> Result<&Issuer, Fault> {
        if token.is_empty() {
            return Err(Fault::Missing);
        }
        if token.len() > TOKEN_OCTETS_MAX {
            let why = format!("expected a token of at most {TOKEN_OCTETS_MAX} octets");
            return Err(Fault::Invalid(why));
        }
        let claims = unverified(token)?;
        let named = claims.get("iss").and_then(Value::as_str);
        let named = named.unwrap_or_default();
        let found = self.0.iter().find(|it| it.terms.issuer == named);
        found.map(|it| &**it).ok_or_else(|| {
            Fault::Invalid(format!(
                "the token's issuer {named:?} is not a configured one"
            ))
        })
    }
}
