//! {SCRAM-SHA-1}, {SCRAM-SHA-256}, {SCRAM-SHA-512}: the server's keys for SCRAM (RFC 5802 §3), in
//! the form of RFC 5803, `iterations:salt$StoredKey:ServerKey`. A thief of the keys can impersonate
//! the server, but must guess the password to impersonate the user.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::base64;
use super::decimal::decimal;
use super::excess::{Excess, ROUNDS_MAX, at_most};
use super::pbkdf2::{self, Prf};
use zeroize::Zeroize;

/// Iterations of new values: about 10 ms for the client, which computes them, too.
pub const ITERATIONS: u32 = 20_000;
const SALT_MAX: usize = 256;
const KEY_MAX: usize = 64;

/// The keys that a server stores for a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramKeys {
    prf: Prf,
    /// Number of iterations of the hash.
    pub iterations: u32,
    /// Salt of the hash.
    pub salt: Vec<u8>,
    /// Digest of the key that the client proves to have; empty when no password matches.
    stored: Vec<u8>,
    /// Key that the server proves to have.
    server: Vec<u8>,
}

impl Drop for ScramKeys {
    fn drop(&mut self) {
        self.stored.zeroize();
        self.server.zeroize();
    }
}

/// `Debug` hides the keys, which are not for logs.
impl std::fmt::Debug for ScramKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScramKeys")
            .field("prf", &self.prf)
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

impl ScramKeys {
    /// Computes the keys of a password.
    pub fn new(prf: Prf, iterations: u32, salt: &[u8], password: &[u8]) -> ScramKeys {
        let mut salted = [0; KEY_MAX];
        let salted = &mut salted[..prf.octets()];
        pbkdf2::derive(prf, iterations, salt, password, salted);
        let client = hmac(prf, salted, b"Client Key");
        ScramKeys {
            prf,
            iterations,
            salt: salt.to_vec(),
            stored: digest(prf, &client),
            server: hmac(prf, salted, b"Server Key"),
        }
    }

    /// Returns keys that no proof matches, for a user who does not exist or has no such password.
    pub fn of_nobody(prf: Prf, salt: &[u8]) -> ScramKeys {
        ScramKeys {
            prf,
            iterations: ITERATIONS,
            salt: salt.to_vec(),
            stored: Vec::new(),
            server: Vec::new(),
        }
    }

    /// Refuses a value whose verification would take too long. Damaged values pass.
    pub(super) fn check(prf: Prf, encoded: &[u8]) -> Result<(), Excess> {
        match ScramKeys::parse(prf, encoded) {
            Some(keys) => at_most("iterations of SCRAM", ROUNDS_MAX, keys.iterations.into()),
            None => Ok(()),
        }
    }

    /// Parses `iterations:salt$StoredKey:ServerKey`.
    pub(super) fn parse(prf: Prf, encoded: &[u8]) -> Option<ScramKeys> {
        let encoded = std::str::from_utf8(encoded).ok()?;
        let (work, keys) = encoded.split_once('$')?;
        let (iterations, salt) = work.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let iterations = decimal(iterations.as_bytes())?;
        let (mut salt_buffer, mut stored_buffer, mut server_buffer) =
            ([0; SALT_MAX], [0; KEY_MAX], [0; KEY_MAX]);
        let salt = base64::decode(salt.as_bytes(), &mut salt_buffer)?;
        let stored = base64::decode(stored.as_bytes(), &mut stored_buffer)?;
        let server = base64::decode(server.as_bytes(), &mut server_buffer)?;
        let fits = iterations > 0 && stored.len() == prf.octets() && server.len() == prf.octets();
        fits.then(|| ScramKeys {
            prf,
            iterations,
            salt: salt.to_vec(),
            stored: stored.to_vec(),
            server: server.to_vec(),
        })
    }

    /// Returns the stored form, without the scheme.
    pub(super) fn print(&self) -> String {
        let [salt, stored, server] =
            [&self.salt, &self.stored, &self.server].map(|it| base64::encode(it));
        format!("{}:{salt}${stored}:{server}", self.iterations)
    }

    /// Returns whether the keys are those of this password.
    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let own = ScramKeys::new(self.prf, self.iterations, &self.salt, password);
        own.stored.ct_eq(&self.stored).into()
    }

    /// Returns whether the proof of a client shows that it has the password (RFC 5802 §3).
    pub fn proves(&self, exchange: &[u8], proof: &[u8]) -> bool {
        let signature = hmac(self.prf, &self.stored, exchange);
        if proof.len() != signature.len() {
            return false;
        }
        let pairs = proof.iter().zip(&signature);
        let client: Vec<u8> = pairs.map(|(proof, own)| proof ^ own).collect();
        digest(self.prf, &client).ct_eq(&self.stored).into()
    }

    /// Returns the server signature, by which the server proves to have the keys.
    pub fn signature(&self, exchange: &[u8]) -> Vec<u8> {
        hmac(self.prf, &self.server, exchange)
    }
}

fn hmac(prf: Prf, key: &[u8], data: &[u8]) -> Vec<u8> {
    fn of<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> Vec<u8> {
        // HMAC accepts a key of any length.
        M::new_from_slice(key).map_or_else(
            |_| Vec::new(),
            |mut mac| {
                mac.update(data);
                mac.finalize().into_bytes().to_vec()
            },
        )
    }
    match prf {
        Prf::Sha1 => of::<Hmac<Sha1>>(key, data),
        Prf::Sha256 => of::<Hmac<Sha256>>(key, data),
        Prf::Sha512 => of::<Hmac<Sha512>>(key, data),
    }
}

fn digest(prf: Prf, data: &[u8]) -> Vec<u8> {
    match prf {
        Prf::Sha1 => Sha1::digest(data).to_vec(),
        Prf::Sha256 => Sha256::digest(data).to_vec(),
        Prf::Sha512 => Sha512::digest(data).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7677 §3 and RFC 5802 §5: one exchange under two digests.
    #[test]
    fn the_examples_of_the_standards() {
        for (prf, salt, exchange, proof, signature) in [
            (
                Prf::Sha256,
                "W22ZaJ0SNY7soEsUEjb6gQ==",
                "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                 s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
                 c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
                "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            ),
            (
                Prf::Sha1,
                "QSXCR+Q6sek8bf92",
                "n=user,r=fyko+d2lbbFgONRv9qkxdawL,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,\
                 s=QSXCR+Q6sek8bf92,i=4096,c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j",
                "v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
                "rmF9pqV8S7suAoZWja4dJRkFsKQ=",
            ),
        ] {
            let decode = |text: &str| {
                let mut buffer = [0; 64];
                base64::decode(text.as_bytes(), &mut buffer)
                    .unwrap()
                    .to_vec()
            };
            let keys = ScramKeys::new(prf, 4096, &decode(salt), b"pencil");
            assert!(keys.proves(exchange.as_bytes(), &decode(proof)));
            assert!(!keys.proves(b"another exchange", &decode(proof)));
            assert_eq!(keys.signature(exchange.as_bytes()), decode(signature));
            let nobody = ScramKeys::of_nobody(prf, &decode(salt));
            assert!(!nobody.proves(exchange.as_bytes(), &decode(proof)));
            assert!(!nobody.proves(exchange.as_bytes(), b""));
            let printed = keys.print();
            assert_eq!(ScramKeys::parse(prf, printed.as_bytes()), Some(keys));
            // Padding is optional.
            for cut in 0..printed.trim_end_matches('=').len() {
                let parsed = ScramKeys::parse(prf, &printed.as_bytes()[..cut]);
                assert!(parsed.is_none_or(|it| !it.verify(b"pencil")), "{cut}");
            }
        }
    }
}
