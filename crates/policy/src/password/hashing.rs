//! The scheme and the cost of new passwords, and whether a stored value falls short of them.

use std::fmt;
use std::str::FromStr;

use super::decimal::decimal;
use super::digest::Algorithm;
use super::excess::ROUNDS_MAX;
use super::pbkdf2::Prf;
use super::{Cost, Form, Scheme, argon, crypt, pbkdf2, scram, split};

/// Scheme and cost of new passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashing {
    /// Scheme of new values.
    pub scheme: Scheme,
    pub(super) effort: Effort,
}

/// The work of one verification, in the numbers of the scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// The scheme has no number: digests, and passwords in the clear.
    Fixed,
    /// Memory, passes and lanes of Argon2 (RFC 9106 §3.1).
    Argon2(argon::Effort),
    /// Rounds; for bcrypt their binary logarithm.
    Rounds(u32),
}

impl From<Scheme> for Hashing {
    /// The scheme with its usual cost.
    fn from(scheme: Scheme) -> Hashing {
        let effort = match scheme {
            Scheme::Argon2id | Scheme::Argon2 => Effort::Argon2(argon::Effort::USUAL),
            Scheme::Bcrypt => Effort::Rounds(crypt::BCRYPT_COST),
            Scheme::Sha512Crypt => Effort::Rounds(crypt::SHA_ROUNDS),
            Scheme::Pbkdf2Sha256 => Effort::Rounds(600_000),
            Scheme::Pbkdf2Sha512 => Effort::Rounds(210_000),
            Scheme::ScramSha256 | Scheme::ScramSha512 => Effort::Rounds(scram::ITERATIONS),
            Scheme::Ssha | Scheme::Ssha256 | Scheme::Ssha384 | Scheme::Ssha512 => Effort::Fixed,
            Scheme::Cleartext => Effort::Fixed,
        };
        Hashing { scheme, effort }
    }
}

impl fmt::Display for Hashing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme;
        match self.effort {
            Effort::Fixed => write!(f, "{scheme}"),
            Effort::Argon2(effort) => write!(f, "{scheme} {effort}"),
            Effort::Rounds(rounds) => write!(f, "{scheme} {}={rounds}", number_name(scheme)),
        }
    }
}

/// The name of a scheme's number.
fn number_name(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Bcrypt => "cost",
        _ => "rounds",
    }
}

/// The least and the greatest number of a scheme that has one.
fn bounds(scheme: Scheme) -> (u64, u64) {
    match scheme {
        Scheme::Bcrypt => (4, crypt::BCRYPT_COST_MAX),
        Scheme::Sha512Crypt => (1_000, crypt::SHA_ROUNDS_MAX),
        // RFC 7677 §4.
        Scheme::ScramSha256 | Scheme::ScramSha512 => (4_096, ROUNDS_MAX),
        _ => (1_000, ROUNDS_MAX),
    }
}

impl FromStr for Hashing {
    type Err = String;

    /// Parses a scheme, with or without its cost: `{ARGON2ID}`, `{ARGON2ID} m=65536,t=3,p=1`,
    /// `{BCRYPT} cost=12`, `{PBKDF2-SHA256} rounds=600000`.
    fn from_str(text: &str) -> Result<Hashing, String> {
        let text = text.trim();
        let end = text.find('}').map_or(text.len(), |it| it + 1);
        let (name, numbers) = text.split_at(end);
        let scheme: Scheme = name
            .parse()
            .map_err(|it: super::UnknownScheme| it.to_string())?;
        let mut hashing = Hashing::from(scheme);
        let numbers = numbers.split([',', ' ']).filter(|it| !it.is_empty());
        for number in numbers {
            let (name, value) = number
                .split_once('=')
                .and_then(|(name, value)| Some((name, decimal(value.as_bytes())?)))
                .ok_or_else(|| format!("expected NAME=NUMBER, got \"{number}\""))?;
            hashing.set(name, value)?;
        }
        match hashing.effort {
            Effort::Argon2(effort) => effort.refuse_excess()?,
            Effort::Rounds(rounds) => {
                let (least, most) = bounds(scheme);
                if !(least..=most).contains(&rounds.into()) {
                    let name = number_name(scheme);
                    return Err(format!(
                        "expected {name} from {least} to {most}, got {rounds}"
                    ));
                }
            }
            Effort::Fixed => {}
        }
        Ok(hashing)
    }
}

impl Hashing {
    fn set(&mut self, name: &str, value: u32) -> Result<(), String> {
        let scheme = self.scheme;
        let is_set = match &mut self.effort {
            Effort::Fixed => false,
            Effort::Argon2(effort) => effort.set(name, value),
            Effort::Rounds(rounds) if name == number_name(scheme) => {
                *rounds = value;
                true
            }
            Effort::Rounds(_) => false,
        };
        match is_set {
            true => Ok(()),
            false => Err(format!("{scheme} has no number \"{name}\"")),
        }
    }

    /// Returns whether a stored value is to be replaced by a new one of the same password: it has
    /// another scheme, or costs less than this one.
    ///
    /// A value stays if a new one would be weaker (in the clear, or a fast hash for a slow one), if
    /// a SCRAM mechanism needs it, and if it is no hash of a password.
    pub fn is_due(&self, stored: &[u8]) -> bool {
        let (form, rest) = match split(stored) {
            None => (Form::Cleartext, stored),
            Some((Some(form), rest)) => (form, rest),
            Some((None, _)) => return false,
        };
        let stays = matches!(form, Form::Foreign | Form::Outside | Form::Scram(_));
        if self.scheme == Scheme::Cleartext || stays {
            return false;
        }
        match kept(stored, form, rest) {
            Some(kept) if kept.scheme == self.scheme => kept.effort.is_less(self.effort),
            _ => form.cost() == Cost::Fast || self.scheme.cost() == Cost::Slow,
        }
    }
}

impl Effort {
    fn is_less(self, wanted: Effort) -> bool {
        match (self, wanted) {
            (Effort::Argon2(kept), Effort::Argon2(wanted)) => kept.is_less(wanted),
            (Effort::Rounds(kept), Effort::Rounds(wanted)) => kept < wanted,
            _ => false,
        }
    }
}

/// The scheme and cost of a stored value; `None` if new values are never made like it.
fn kept(stored: &[u8], form: Form, rest: &[u8]) -> Option<Hashing> {
    let rounds = |scheme, rounds| {
        let effort = Effort::Rounds(rounds);
        Some(Hashing { scheme, effort })
    };
    match form {
        Form::Digest {
            algorithm,
            salted: true,
        } => match algorithm {
            Algorithm::Sha1 => Some(Scheme::Ssha.into()),
            Algorithm::Sha256 => Some(Scheme::Ssha256.into()),
            Algorithm::Sha384 => Some(Scheme::Ssha384.into()),
            Algorithm::Sha512 => Some(Scheme::Ssha512.into()),
            Algorithm::Md5 => None,
        },
        Form::Argon2 => {
            let effort = Effort::Argon2(argon::Effort::of_argon2id(rest)?);
            let scheme = match stored[..stored.len() - rest.len()].eq_ignore_ascii_case(b"{ARGON2}")
            {
                true => Scheme::Argon2,
                false => Scheme::Argon2id,
            };
            Some(Hashing { scheme, effort })
        }
        Form::Crypt => match crypt::effort(rest)? {
            crypt::Kept::Bcrypt(cost) => rounds(Scheme::Bcrypt, cost),
            crypt::Kept::Sha512(number) => rounds(Scheme::Sha512Crypt, number),
        },
        Form::Pbkdf2(Prf::Sha256) => rounds(Scheme::Pbkdf2Sha256, pbkdf2::rounds(rest)?),
        Form::Pbkdf2(Prf::Sha512) => rounds(Scheme::Pbkdf2Sha512, pbkdf2::rounds(rest)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashing(text: &str) -> Hashing {
        text.parse().expect(text)
    }

    #[test]
    fn a_scheme_is_read_with_and_without_its_cost() {
        for (text, printed) in [
            ("{ARGON2ID}", "{ARGON2ID} m=12288,t=3,p=1"),
            ("argon2id", "{ARGON2ID} m=12288,t=3,p=1"),
            ("{ARGON2} m=65536, t=2", "{ARGON2} m=65536,t=2,p=1"),
            ("{BCRYPT} cost=12", "{BCRYPT} cost=12"),
            ("{CRYPT} rounds=100000", "{CRYPT} rounds=100000"),
            ("{ssha512}", "{SSHA512}"),
            ("{SCRAM-SHA-256} rounds=4096", "{SCRAM-SHA-256} rounds=4096"),
        ] {
            assert_eq!(hashing(text).to_string(), printed, "{text}");
            assert_eq!(hashing(printed), hashing(text), "{text}");
        }
    }

    #[test]
    fn a_cost_beyond_the_limits_is_refused() {
        for (text, error) in [
            ("{BCRYPT} cost=15", "expected cost from 4 to 14, got 15"),
            ("{BCRYPT} rounds=12", "{BCRYPT} has no number \"rounds\""),
            ("{SSHA} rounds=12", "{SSHA} has no number \"rounds\""),
            (
                "{PBKDF2-SHA256} rounds=7",
                "expected rounds from 1000 to 2000000, got 7",
            ),
            ("{ARGON2ID} m", "expected NAME=NUMBER, got \"m\""),
            (
                "{ARGON2ID} m=262145",
                "expected at most 262144 KiB of memory for Argon2, got 262145",
            ),
            (
                "{ARGON2ID} m=262144,t=5",
                "expected at most 1048576 KiB of memory times passes for Argon2, got 1310720",
            ),
            (
                "{ARGON2ID} p=0",
                "expected m from 8 times p, t from 1 and p from 1 to 16, got m=12288,t=3,p=0",
            ),
            (
                "{ARGON2ID} m=15,p=2",
                "expected m from 8 times p, t from 1 and p from 1 to 16, got m=15,t=3,p=2",
            ),
        ] {
            let refused: Result<Hashing, String> = text.parse();
            assert_eq!(refused.expect_err(text), error);
        }
        assert!("{MD5}".parse::<Hashing>().is_err());
    }

    #[test]
    fn what_is_made_has_the_cost_asked_for() {
        for text in [
            "{ARGON2ID} m=64,t=2,p=2",
            "{ARGON2} m=64,t=2,p=1",
            "{BCRYPT} cost=4",
            "{CRYPT} rounds=1000",
            "{CRYPT} rounds=5000",
            "{PBKDF2-SHA256} rounds=1000",
            "{PBKDF2-SHA512} rounds=1000",
            "{SCRAM-SHA-256} rounds=4096",
            "{SSHA}",
            "{SSHA384}",
        ] {
            let hashing = hashing(text);
            let stored = super::super::hash(hashing, b"secret").expect(text);
            assert!(
                super::super::verify(stored.as_bytes(), b"secret"),
                "{stored}"
            );
            assert!(!hashing.is_due(stored.as_bytes()), "{stored}");
            let (form, rest) = split(stored.as_bytes()).expect("a scheme");
            let form = form.expect("a known scheme");
            if !matches!(form, Form::Scram(_)) {
                assert_eq!(
                    kept(stored.as_bytes(), form, rest),
                    Some(hashing),
                    "{stored}"
                );
            }
        }
    }

    #[test]
    fn what_falls_short_is_due_and_nothing_becomes_weaker() {
        let stored = |text: &str| super::super::hash(hashing(text), b"secret").expect(text);
        for (kept, wanted, due) in [
            ("{SSHA}", "{ARGON2ID} m=64,t=2", true),
            ("{SSHA}", "{SSHA512}", true),
            ("{ARGON2ID} m=64,t=2", "{SSHA512}", false),
            ("{ARGON2ID} m=64,t=2", "{ARGON2ID} m=128,t=2", true),
            ("{ARGON2ID} m=128,t=2", "{ARGON2ID} m=64,t=2", false),
            ("{ARGON2ID} m=64,t=4", "{ARGON2ID} m=128,t=2", true),
            ("{ARGON2} m=64,t=2", "{ARGON2ID} m=64,t=2", true),
            ("{BCRYPT} cost=4", "{BCRYPT} cost=5", true),
            ("{BCRYPT} cost=5", "{BCRYPT} cost=4", false),
            ("{CRYPT} rounds=1000", "{CRYPT}", true),
            (
                "{PBKDF2-SHA256} rounds=1000",
                "{PBKDF2-SHA256} rounds=1001",
                true,
            ),
            ("{SCRAM-SHA-256} rounds=4096", "{ARGON2ID}", false),
            ("{SSHA}", "{CLEARTEXT}", false),
        ] {
            let is_due = hashing(wanted).is_due(stored(kept).as_bytes());
            assert_eq!(is_due, due, "{kept} → {wanted}");
        }
        let argon = hashing("{ARGON2ID}");
        for (kept, due) in [
            ("secret", true),
            ("{CLEARTEXT}secret", true),
            ("{MD5}secret", true),
            ("{CRYPT}$y$j75$abc$def", true),
            ("{UNKNOWN}secret", false),
            ("{SASL}ada@EXAMPLE.COM", false),
            ("{K5KEY}", false),
        ] {
            assert_eq!(argon.is_due(kept.as_bytes()), due, "{kept}");
        }
    }
}
