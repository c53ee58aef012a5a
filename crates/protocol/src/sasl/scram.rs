//! The messages of SCRAM (RFC 5802 §7) that clients send.

use std::borrow::Cow;

use crate::DecodeError;
use crate::base64;
use crate::ber::decode_text;

use super::gs2::{ClientBinding, Header, name_of, unknown};

/// The first message: `n,,n=user,r=nonce`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFirst<'a> {
    /// Channel binding and authorization identity, with both commas; the last message repeats it.
    pub header: &'a str,
    /// The message after the header, a part of the signed text.
    pub bare: &'a str,
    /// The client's words about binding the exchange to the channel.
    pub binding: ClientBinding<'a>,
    /// Identity to act as; empty for the authenticated one.
    pub authorization: Cow<'a, str>,
    /// User to authenticate as.
    pub user: Cow<'a, str>,
    /// Random characters.
    pub nonce: &'a str,
}

/// The last message: `c=biws,r=nonce,p=proof`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFinal<'a> {
    /// The message before the proof, a part of the signed text.
    pub without_proof: &'a str,
    /// The header of the first message, decoded.
    pub header: Vec<u8>,
    /// The nonces of client and server together.
    pub nonce: &'a str,
    /// The proof, decoded.
    pub proof: Vec<u8>,
}

impl<'a> ClientFirst<'a> {
    /// Decodes the credentials of the first bind request.
    pub fn decode(credentials: &'a [u8]) -> Result<Self, DecodeError> {
        let text = decode_text(credentials)?;
        let (header, bare) = Header::decode(text)?;
        let Header {
            text: header,
            binding,
            authorization,
        } = header;
        let mut attributes = Attributes::of(bare);
        let user = name_of(attributes.next("n=")?)?;
        let nonce = attributes.next("r=")?;
        Ok(ClientFirst {
            header,
            bare,
            binding,
            authorization,
            user,
            nonce,
        })
    }

    /// Appends the credentials.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.header.as_bytes());
        out.extend_from_slice(self.bare.as_bytes());
    }
}

impl<'a> ClientFinal<'a> {
    /// Decodes the credentials of the last bind request.
    pub fn decode(credentials: &'a [u8]) -> Result<Self, DecodeError> {
        let text = decode_text(credentials)?;
        // Extensions may come before the proof, which is last.
        let (without_proof, proof) = text.rsplit_once(",p=").ok_or(DecodeError::Truncated)?;
        let mut attributes = Attributes::of(without_proof);
        let header = octets(attributes.next("c=")?)?;
        let nonce = attributes.next("r=")?;
        Ok(ClientFinal {
            without_proof,
            header,
            nonce,
            proof: octets(proof)?,
        })
    }

    /// Appends the credentials.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.without_proof.as_bytes());
        out.extend_from_slice(b",p=");
        base64::encode_into(out, &self.proof);
    }
}

/// The attributes of a message, one after the other.
struct Attributes<'a>(std::str::Split<'a, char>);

impl<'a> Attributes<'a> {
    fn of(text: &'a str) -> Self {
        Attributes(text.split(','))
    }

    /// The value of the next attribute, which must have this key.
    fn next(&mut self, key: &str) -> Result<&'a str, DecodeError> {
        let part = self.0.next().ok_or(DecodeError::Truncated)?;
        let value = part.strip_prefix(key).ok_or_else(|| unknown(part))?;
        match value.is_empty() {
            true => Err(DecodeError::Truncated),
            false => Ok(value),
        }
    }
}

fn octets(text: &str) -> Result<Vec<u8>, DecodeError> {
    let mut octets = Vec::new();
    let decoded = base64::decode_into(&mut octets, text.as_bytes());
    decoded.map_err(|_| unknown(text)).map(|()| octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_messages() {
        let whole = b"n,a=u:ada,n=a=2Cb=3Dc,r=fyko,x=1";
        let first = ClientFirst::decode(whole).unwrap();
        assert_eq!(
            (first.header, first.bare),
            ("n,a=u:ada,", "n=a=2Cb=3Dc,r=fyko,x=1")
        );
        assert_eq!((&*first.authorization, &*first.user), ("u:ada", "a,b=c"));
        assert_eq!((first.nonce, first.binding), ("fyko", ClientBinding::None));
        let mut encoded = Vec::new();
        first.encode(&mut encoded);
        assert_eq!(encoded, whole);
        let binding = |first| ClientFirst::decode(first).unwrap().binding;
        let exporter = ClientBinding::Type("tls-exporter");
        assert_eq!(binding(b"p=tls-exporter,,n=a,r=b"), exporter);
        assert_eq!(binding(b"y,,n=a,r=b"), ClientBinding::Unoffered);
        for junk in [
            &b""[..],
            b"n,,",
            b"n,,n=a",
            b"n,,r=b,n=a",
            b"n,,n=,r=b",
            b"n,,m=x,n=a,r=b",
            b"n,x=a,n=a,r=b",
            b"q,,n=a,r=b",
            b"p=,,n=a,r=b",
            b"n,,n=a=b,r=c",
            b"n,,n=a,r=\xff",
        ] {
            assert!(
                ClientFirst::decode(junk).is_err(),
                "{}",
                junk.escape_ascii()
            );
        }
    }

    #[test]
    fn last_messages() {
        let whole = b"c=biws,r=fyko3rfc,p=AQID";
        let last = ClientFinal::decode(whole).unwrap();
        assert_eq!(
            (last.without_proof, last.nonce),
            ("c=biws,r=fyko3rfc", "fyko3rfc")
        );
        assert_eq!((&*last.header, &*last.proof), (&b"n,,"[..], &[1, 2, 3][..]));
        let mut encoded = Vec::new();
        last.encode(&mut encoded);
        assert_eq!(encoded, whole);
        for junk in [
            &b""[..],
            b"c=biws,r=a",
            b"r=a,c=biws,p=AQID",
            b"c=bi,r=a,p=AQID",
            b"c=biws,r=a,p=A",
            b"c=biws,p=AQID",
        ] {
            assert!(
                ClientFinal::decode(junk).is_err(),
                "{}",
                junk.escape_ascii()
            );
        }
    }
}
