//! The settings of issuers of tokens, checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Uri;
use sasl::token::{SignatureAlgorithm, Terms};
use serde::{Deserialize, Serialize};

use super::error::{Place, SettingsError};
use super::table::Settings;

/// Certificates of authorities on Debian and its derivatives.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// An issuer as the file gives it, below `[[sasl.oauth]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oauth {
    /// The issuer's name, as in the claim `iss` of its tokens.
    pub issuer: String,
    /// Names of this service, one of which must be in the claim `aud`.
    pub audience: Vec<String>,
    /// Its keys, a JWK set: the path of a file, or an address that begins with `https://`.
    pub keys: String,
    /// Algorithms of its signatures.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<String>,
    /// Seconds by which its clock may differ from that of this machine.
    #[serde(default = "clock_skew_s")]
    pub clock_skew_s: u32,
    /// Scopes that a token must have, all of them.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Address of the document that tells clients how to get a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub openid_configuration: Option<String>,
    /// Seconds after which keys are fetched again.
    #[serde(default = "refresh_s")]
    pub refresh_s: u32,
    /// PEM file: the authorities of the server that keys are fetched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

fn algorithms() -> Vec<String> {
    ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

fn clock_skew_s() -> u32 {
    60
}

fn refresh_s() -> u32 {
    300
}

/// An issuer whose tokens are accepted, and where its keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The terms under which its tokens are accepted.
    pub terms: Terms,
    /// Where its keys are.
    pub keys: KeySource,
}

/// The place of a key set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A file, read again when it changes.
    File(PathBuf),
    /// An address that the set is fetched from.
    Url {
        /// The address, `https://` or, on this machine, `http://`.
        url: Uri,
        /// PEM file of the authorities that the server's certificate must lead to.
        ca: PathBuf,
        /// Time from one fetch to the next.
        refresh: Duration,
    },
}

/// The issuers, in the order of the file.
pub(super) fn of(
    place: &Place<'_>,
    folder: &Path,
    settings: &Settings,
) -> Result<Vec<IssuerSettings>, SettingsError> {
    let given = &settings.sasl.oauth;
    let mut names = BTreeSet::new();
    let mut issuers = Vec::new();
    for (at, it) in given.iter().enumerate() {
        let wrong = |field: &str, message: String| {
            let span = place.span(&format!("sasl.oauth.{at}.{field}"));
            let span = span.or_else(|| place.span(&format!("sasl.oauth.{at}")));
            place.error(span, &format!("sasl.oauth.{field}"), message)
        };
        if it.issuer.is_empty() || !names.insert(&it.issuer) {
            let message = format!("expected a name that no other has, got \"{}\"", it.issuer);
            return Err(wrong("issuer", message));
        }
        if it.audience.is_empty() || it.audience.iter().any(String::is_empty) {
            let message = "expected a name of this service as in the claim aud, got none";
            return Err(wrong("audience", message.to_owned()));
        }
        if it.algorithms.is_empty() {
            let message = "expected an algorithm, got none".to_owned();
            return Err(wrong("algorithms", message));
        }
        let algorithms: Result<Vec<SignatureAlgorithm>, _> =
            it.algorithms.iter().map(|it| it.parse()).collect();
        if it.clock_skew_s > 600 {
            let message = format!("expected seconds from 0 to 600, got {}", it.clock_skew_s);
            return Err(wrong("clock_skew_s", message));
        }
        if !(10..=86_400).contains(&it.refresh_s) {
            let message = format!("expected seconds from 10 to 86400, got {}", it.refresh_s);
            return Err(wrong("refresh_s", message));
        }
        if it.scopes.iter().any(|it| it.is_empty() || it.contains(' ')) {
            let message = "expected words without spaces".to_owned();
            return Err(wrong("scopes", message));
        }
        issuers.push(IssuerSettings {
            terms: Terms {
                issuer: it.issuer.clone(),
                audience: it.audience.clone(),
                algorithms: algorithms.map_err(|error| wrong("algorithms", error))?,
                clock_skew_s: it.clock_skew_s,
                scopes: it.scopes.clone(),
                openid_configuration: it.openid_configuration.clone(),
            },
            keys: source(folder, it).map_err(|(field, error)| wrong(field, error))?,
        });
    }
    Ok(issuers)
}

/// The place of an issuer's keys. The error begins with the name of its setting.
fn source(folder: &Path, given: &Oauth) -> Result<KeySource, (&'static str, String)> {
    let text = &given.keys;
    let is_encrypted = text.starts_with("https://");
    if !is_encrypted && !text.starts_with("http://") {
        return match (text.as_str(), &given.ca) {
            ("", _) => Err(("keys", "expected a path or an address, got none".to_owned())),
            (_, Some(_)) => Err(("ca", "expected an address in keys beside it".to_owned())),
            (path, None) => Ok(KeySource::File(folder.join(path))),
        };
    }
    let url: Result<Uri, _> = text.parse();
    let url = url.map_err(|error| ("keys", format!("expected an address, got {text}: {error}")))?;
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here =
        host == "localhost" || (host.parse::<std::net::IpAddr>()).is_ok_and(|it| it.is_loopback());
    if !is_encrypted && !is_here {
        // Whoever can change the keys on the way can be anybody.
        let message = format!("expected https:// but for an address of this machine, got {text}");
        return Err(("keys", message));
    }
    let ca = given.ca.as_ref().map(|it| folder.join(it));
    Ok(KeySource::Url {
        url,
        ca: ca.unwrap_or_else(|| PathBuf::from(SYSTEM_CERTIFICATES)),
        refresh: Duration::from_secs(given.refresh_s.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Config, Overrides};

    const WHOLE: &str = "[[sasl.oauth]]
issuer = \"https://id.example.com\"
audience = [\"ldap\"]
keys = \"https://id.example.com/keys\"
";

    fn parse(text: &str) -> Result<Config, SettingsError> {
        Config::parse(Path::new("/node"), text, &Overrides::default())
    }

    #[test]
    fn an_issuer_needs_three_settings() {
        let issuer = parse(WHOLE).unwrap().issuers.remove(0);
        assert_eq!(issuer.terms.issuer, "https://id.example.com");
        assert_eq!(
            (issuer.terms.clock_skew_s, issuer.terms.algorithms.len()),
            (60, 3)
        );
        let KeySource::Url { url, ca, refresh } = issuer.keys else {
            panic!("expected an address");
        };
        assert_eq!(
            (url.host(), refresh.as_secs()),
            (Some("id.example.com"), 300)
        );
        assert_eq!(ca, Path::new(SYSTEM_CERTIFICATES));
        let file = WHOLE.replace("https://id.example.com/keys", "keys.json");
        let issuer = parse(&file).unwrap().issuers.remove(0);
        assert_eq!(issuer.keys, KeySource::File("/node/keys.json".into()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let twice = format!("{WHOLE}{WHOLE}");
        for (text, message) in [
            (
                WHOLE.replace("[\"ldap\"]", "[]"),
                "3: sasl.oauth.audience: expected a name of this service as in the claim aud, \
                 got none",
            ),
            (
                WHOLE.replace("keys = ", "algorithms = [\"none\"]\nkeys = "),
                "4: sasl.oauth.algorithms: expected one of RS256, RS384, RS512, PS256, PS384, \
                 PS512, ES256, ES384, EdDSA, got \"none\"",
            ),
            (
                format!("{WHOLE}algorithms = [\"HS256\"]"),
                "5: sasl.oauth.algorithms: expected one of RS256, RS384, RS512, PS256, PS384, \
                 PS512, ES256, ES384, EdDSA, got \"HS256\"",
            ),
            (
                format!("{WHOLE}algorithms = []"),
                "5: sasl.oauth.algorithms: expected an algorithm, got none",
            ),
            (
                format!("{WHOLE}clock_skew_s = 601"),
                "5: sasl.oauth.clock_skew_s: expected seconds from 0 to 600, got 601",
            ),
            (
                format!("{WHOLE}refresh_s = 9"),
                "5: sasl.oauth.refresh_s: expected seconds from 10 to 86400, got 9",
            ),
            (
                format!("{WHOLE}scopes = [\"a b\"]"),
                "5: sasl.oauth.scopes: expected words without spaces",
            ),
            (
                WHOLE.replace("https://id.example.com/keys", "http://id.example.com/keys"),
                "4: sasl.oauth.keys: expected https:// but for an address of this machine, got \
                 http://id.example.com/keys",
            ),
            (
                format!(
                    "{}ca = \"ca.pem\"",
                    WHOLE.replace("https://id.example.com/keys", "k")
                ),
                "5: sasl.oauth.ca: expected an address in keys beside it",
            ),
            (
                twice,
                "6: sasl.oauth.issuer: expected a name that no other has, got \
                 \"https://id.example.com\"",
            ),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert_eq!(error, format!("/node/pando.toml:{message}"), "{text}");
        }
        for here in [
            "http://localhost:8080/k",
            "http://127.0.0.1/k",
            "http://[::1]:80/k",
        ] {
            let text = WHOLE.replace("https://id.example.com/keys", here);
            assert!(parse(&text).is_ok(), "{here}");
        }
    }
}
