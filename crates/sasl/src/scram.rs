//! SCRAM (RFC 5802, RFC 7677): client and server prove to each other that they know a password, or
//! keys made of it, without sending it.
//!
//! An exchange has two messages of the client. [`First::read`] reads the first; the caller finds
//! keys for its user, or makes keys of nobody, so that the answer does not tell whether there is an
//! account; [`First::challenge`] answers. [`Exchange::judge`] reads the second.

use std::borrow::Cow;

use policy::password::{Prf, ScramKeys};
use protocol::base64;
use protocol::sasl::{ClientBinding, ClientFinal, ClientFirst};

use crate::mechanism::{Circumstances, Mechanism, Variant};
use crate::refusal::Refusal;

/// Random octets in the server's part of a nonce.
pub const NONCE_OCTETS: usize = 18;
/// Maximum length of a client's nonce: the exchange stays in memory while it waits for the client.
const NONCE_MAX: usize = 256;
/// Maximum length of a first message, of which the exchange keeps a copy.
const FIRST_MAX: usize = 4_096;
/// The word for messages in a refusal.
const FORM: &str = "SCRAM credentials (RFC 5802 §7)";

/// The first message of a client.
#[derive(Debug)]
pub struct First {
    /// The user to authenticate as.
    pub user: String,
    /// The identity to act as; empty for that of the user.
    pub authorization: String,
    variant: Variant,
    /// Whether the exchange is bound to the channel.
    bound: bool,
    /// Octets that the second message must repeat: the header, and those of the channel.
    input: Vec<u8>,
    bare: String,
    nonce: String,
}

/// State between the two messages of a client.
#[derive(Debug)]
pub struct Exchange {
    /// Keys of the user, or of nobody.
    pub keys: ScramKeys,
    /// The identity to act as; empty for that of the user.
    pub authorization: String,
    variant: Variant,
    /// Whether the exchange is bound to the channel.
    bound: bool,
    input: Vec<u8>,
    nonce: String,
    /// The client's first message without its header, a comma, and the server's first message.
    messages: String,
}

/// A second message of a client.
#[derive(Debug)]
pub struct Judged {
    /// Whether the client has proved that it knows the password.
    pub proved: bool,
    /// The proof, which differs in each exchange.
    pub proof: Vec<u8>,
    /// The server's last message, for a client that has proved it.
    pub answer: Vec<u8>,
}

impl First {
    /// Reads a client's first message for a mechanism.
    ///
    /// # Errors
    /// The message is not of the mechanism's form, too long, bound to another channel than that of
    /// the connection, or shows that somebody on the way has removed mechanisms from those that the
    /// server offers.
    pub fn read(
        variant: Variant,
        credentials: &[u8],
        circumstances: &Circumstances<'_>,
    ) -> Result<First, Refusal> {
        let first = ClientFirst::decode(credentials).map_err(|it| Refusal::malformed(FORM, it))?;
        if first.nonce.len() > NONCE_MAX || credentials.len() > FIRST_MAX {
            return Err(Refusal::wrong());
        }
        let octets = bound_octets(variant.plus, first.binding, circumstances);
        let octets = match octets {
            // RFC 5802 §6: the client can bind to a channel and believes that the server cannot.
            Ok(_)
                if first.binding == ClientBinding::Unoffered
                    && offers_plus(variant.prf, circumstances) =>
            {
                return Err(Refusal::credentials(
                    "the client did not see that SCRAM with channel binding (-PLUS) is offered \
                     here: somebody between client and server may have hidden it",
                ));
            }
            octets => octets?,
        };
        Ok(First {
            variant,
            bound: matches!(first.binding, ClientBinding::Type(_)),
            user: first.user.into_owned(),
            authorization: first.authorization.into_owned(),
            input: [first.header.as_bytes(), &octets].concat(),
            bare: first.bare.to_owned(),
            nonce: first.nonce.to_owned(),
        })
    }

    /// Answers with the salt of keys. `random` is the server's part of the nonce.
    pub fn challenge(self, keys: ScramKeys, random: &[u8; NONCE_OCTETS]) -> (Vec<u8>, Exchange) {
        let nonce = format!("{}{}", self.nonce, text(random));
        let salt = text(&keys.salt);
        let answer = format!("r={nonce},s={salt},i={}", keys.iterations);
        let exchange = Exchange {
            variant: self.variant,
            bound: self.bound,
            keys,
            authorization: self.authorization,
            input: self.input,
            nonce,
            messages: format!("{},{answer}", self.bare),
        };
        (answer.into_bytes(), exchange)
    }
}

impl Exchange {
    /// Returns the variant of the exchange.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Reads the client's second message and verifies its proof.
    ///
    /// # Errors
    /// The message is not of the form, or belongs to another exchange or channel.
    pub fn judge(&self, credentials: &[u8]) -> Result<Judged, Refusal> {
        let last = ClientFinal::decode(credentials).map_err(|it| Refusal::malformed(FORM, it))?;
        if last.nonce != self.nonce {
            return Err(Refusal::wrong());
        }
        if last.header != self.input {
            return Err(match self.bound {
                true => Refusal::credentials(
                    "the client is bound to another TLS channel than this one: somebody may stand \
                     between client and server",
                ),
                false => Refusal::wrong(),
            });
        }
        let signed = format!("{},{}", self.messages, last.without_proof);
        let signature = self.keys.signature(signed.as_bytes());
        Ok(Judged {
            proved: self.keys.proves(signed.as_bytes(), &last.proof),
            answer: format!("v={}", text(&signature)).into_bytes(),
            proof: last.proof,
        })
    }
}

/// The octets of the channel that the exchange is bound to; empty without `-PLUS`.
fn bound_octets<'c>(
    plus: bool,
    binding: ClientBinding<'_>,
    circumstances: &Circumstances<'c>,
) -> Result<Cow<'c, [u8]>, Refusal> {
    match (plus, binding) {
        (false, ClientBinding::None | ClientBinding::Unoffered) => Ok(Cow::Borrowed(&[])),
        (true, ClientBinding::None | ClientBinding::Unoffered) => Err(Refusal::credentials(
            "a mechanism that ends in -PLUS binds to the channel: expected p= and its type",
        )),
        // Cyrus SASL binds to the channel under the name without -PLUS, too.
        (_, ClientBinding::Type(name)) => {
            let bindings = circumstances.bindings;
            bindings
                .and_then(|it| it.of_type(name))
                .ok_or(Refusal::credentials(
                    "expected a binding to the channel of type tls-exporter (TLS 1.3) or \
                 tls-server-end-point",
                ))
        }
    }
}

fn offers_plus(prf: Prf, circumstances: &Circumstances<'_>) -> bool {
    circumstances.offers(Mechanism::Scram(Variant { prf, plus: true }))
}

fn text(octets: &[u8]) -> String {
    let mut text = Vec::new();
    base64::encode_into(&mut text, octets);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests;
