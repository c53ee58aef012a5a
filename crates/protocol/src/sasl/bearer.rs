//! The message of OAUTHBEARER (RFC 7628 §3.1): `n,a=u:ada,^Ahost=a.example^Aauth=Bearer TOKEN^A^A`,
//! where `^A` is the octet 1.

use std::borrow::Cow;

use crate::DecodeError;
use crate::ber::decode_text;
use crate::error::saturated;

use super::gs2::{ClientBinding, Header, unknown};

/// The octet that ends each part.
const END: char = '\x01';
/// The scheme of the authorization (RFC 6750 §2.1), in any case.
const SCHEME: &str = "Bearer";

/// The first message of a client. The second one, after a refusal, is the single octet 1.
#[derive(Clone, PartialEq, Eq)]
pub struct Bearer<'a> {
    /// Identity to act as; empty for that of the token.
    pub authorization: Cow<'a, str>,
    /// The token; empty where a client asks which issuer and which scope are expected.
    pub token: &'a str,
}

/// Tokens are not for logs.
impl std::fmt::Debug for Bearer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bearer")
            .field("authorization", &self.authorization)
            .finish_non_exhaustive()
    }
}

impl<'a> Bearer<'a> {
    /// Decodes a bind request's credentials. Parts other than `auth`, such as host and port, are
    /// allowed and not used.
    ///
    /// # Errors
    /// The credentials are not of the form, have several tokens, or are bound to a channel, which
    /// the mechanism has no way to be.
    pub fn decode(credentials: &'a [u8]) -> Result<Self, DecodeError> {
        let text = decode_text(credentials)?;
        let (header, rest) = Header::decode(text)?;
        if matches!(header.binding, ClientBinding::Type(_)) {
            return Err(unknown(header.text));
        }
        let mut rest = rest.strip_prefix(END).ok_or(DecodeError::Truncated)?;
        let mut token = None;
        // The UnboundID SDK leaves out the last END, which follows that of the last part.
        while token.is_none() || !rest.is_empty() {
            let (part, behind) = rest.split_once(END).ok_or(DecodeError::Truncated)?;
            rest = behind;
            if part.is_empty() {
                break;
            }
            let (key, value) = part.split_once('=').ok_or_else(|| unknown(part))?;
            if key.is_empty() || !key.bytes().all(|it| it.is_ascii_alphabetic()) {
                return Err(unknown(key));
            }
            if key == "auth" && token.replace(token_of(value)?).is_some() {
                return Err(unknown(key));
            }
        }
        match rest.len() {
            0 => Ok(Bearer {
                authorization: header.authorization,
                token: token.unwrap_or_default(),
            }),
            count => Err(DecodeError::TrailingBytes {
                count: saturated(count),
            }),
        }
    }

    /// Appends a bind request's credentials.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let name = self.authorization.replace('=', "=3D").replace(',', "=2C");
        let name = match name.is_empty() {
            true => name,
            false => format!("a={name}"),
        };
        let text = match self.token {
            "" => format!("n,{name},{END}auth={END}{END}"),
            token => format!("n,{name},{END}auth={SCHEME} {token}{END}{END}"),
        };
        out.extend_from_slice(text.as_bytes());
    }
}

/// The token of `Bearer TOKEN`; empty for no text.
fn token_of(value: &str) -> Result<&str, DecodeError> {
    let Some((scheme, token)) = value.split_once(' ') else {
        return match value {
            "" => Ok(""),
            _ => Err(unknown(value)),
        };
    };
    let token = token.trim_matches(' ');
    // RFC 6750 §2.1: b64token.
    let fits = |it: u8| it.is_ascii_alphanumeric() || b"-._~+/=".contains(&it);
    match scheme.eq_ignore_ascii_case(SCHEME) && token.bytes().all(fits) {
        true => Ok(token),
        false => Err(unknown(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_token_is_found_among_other_parts() {
        for (credentials, authorization, token) in [
            ("n,,\x01auth=Bearer a.b.c\x01\x01", "", "a.b.c"),
            (
                "y,a=u:a=2Cb,\x01host=a.example\x01port=389\x01auth=bearer  a=\x01\x01",
                "u:a,b",
                "a=",
            ),
            ("n,,\x01auth=Bearer a\x01", "", "a"),
            ("n,,\x01auth=Bearer a\x01host=b\x01", "", "a"),
            ("n,,\x01auth=\x01\x01", "", ""),
            ("n,,\x01\x01", "", ""),
        ] {
            let bearer = Bearer::decode(credentials.as_bytes()).unwrap();
            assert_eq!(
                (&*bearer.authorization, bearer.token),
                (authorization, token)
            );
            let mut encoded = Vec::new();
            bearer.encode(&mut encoded);
            assert_eq!(Bearer::decode(&encoded), Ok(bearer));
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for junk in [
            &b""[..],
            b"\x01",
            b"n,,",
            b"n,,\x01",
            b"n,,auth=Bearer a\x01\x01",
            b"n,,\x01auth=Bearer a",
            b"n,,\x01auth=Bearer a\x01\x01more",
            b"n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01",
            b"n,,\x01auth=Basic a\x01\x01",
            b"n,,\x01auth=Bearer\x01\x01",
            b"n,,\x01auth=Bearer a b\x01\x01",
            b"n,,\x01auth=Bearer \xc3\xa9\x01\x01",
            b"n,,\x01au-th=x\x01\x01",
            b"n,,\x01=x\x01\x01",
            b"n,,\x01auth\x01\x01",
            b"p=tls-exporter,,\x01auth=Bearer a\x01\x01",
            b"n,a=,\x01auth=Bearer a\x01\x01",
            b"n,b=c,\x01auth=Bearer a\x01\x01",
        ] {
            assert!(Bearer::decode(junk).is_err(), "{}", junk.escape_ascii());
        }
    }

    proptest! {
        /// Any name and token come back, whatever other parts stand around them.
        #[test]
        fn any_message_comes_back(
            name in "([a-z]+:[^\\x00]{0,20})?",
            token in "[A-Za-z0-9._~+/=-]{1,80}",
            host in "[a-z.]{1,20}",
        ) {
            let bearer = Bearer { authorization: name.as_str().into(), token: &token };
            let mut encoded = Vec::new();
            bearer.encode(&mut encoded);
            prop_assert_eq!(Bearer::decode(&encoded), Ok(bearer.clone()));
            let text = String::from_utf8(encoded).unwrap();
            let (header, rest) = text.split_once(",\x01auth=").unwrap();
            let more = format!("{header},\x01host={host}\x01auth={rest}");
            prop_assert_eq!(Bearer::decode(more.as_bytes()), Ok(bearer));
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        let bearer = Bearer::decode(b"n,,\x01auth=Bearer secret\x01\x01").unwrap();
        assert!(!format!("{bearer:?}").contains("secret"));
    }
}
