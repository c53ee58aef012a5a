//! Stored passwords: verifying values of every scheme in use, and making new values.
//!
//! A stored value is `{SCHEME}` followed by the scheme's data (RFC 2307 §5.3 and its successors). A
//! value without a scheme is a cleartext password. A value with an unknown scheme matches nothing.
//!
//! Invariant: no stored value, whatever its origin, makes verification panic, or take more than
//! about two seconds of one processor and 256 MiB of memory. [`check`] refuses values that would;
//! such values match nothing if they are stored all the same.

mod argon;
mod base64;
mod crypt;
mod decimal;
mod des;
mod digest;
mod excess;
pub(crate) mod fuzz;
mod hashing;
mod pbkdf2;
mod scram;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use subtle::ConstantTimeEq;

use digest::Algorithm;
pub use excess::{Excess, PASSWORD_OCTETS_MAX};
use excess::{STORED_OCTETS_MAX, at_most};
use hashing::Effort;
pub use hashing::Hashing;
pub use pbkdf2::Prf;
pub use scram::ScramKeys;

/// The time that verifying a stored value takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A microsecond or less: verified on the calling thread.
    Fast,
    /// Up to two seconds: verified on a thread of its own, with successes cached.
    Slow,
}

/// The form of a stored value behind its scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Cleartext,
    Digest {
        algorithm: Algorithm,
        salted: bool,
    },
    Crypt,
    /// Base64 of digest and salt, where the digest is that of MD5-crypt with this magic.
    Md5Crypt(&'static str),
    Nt,
    NsMtaMd5,
    Pbkdf2(Prf),
    Pbkdf2Binary,
    Pkcs5s2,
    Argon2,
    Scram(Prf),
    /// Known by name, but verified by other programs or not at all.
    Foreign,
    /// The name of a user whose password another program verifies.
    Outside,
}

/// Scheme names in upper case, each with the form of its values.
const SCHEMES: &[(&str, Form)] = &[
    ("SSHA", salted(Algorithm::Sha1)),
    ("ARGON2", Form::Argon2),
    ("ARGON2I", Form::Argon2),
    ("ARGON2ID", Form::Argon2),
    ("CRYPT", Form::Crypt),
    ("BCRYPT", Form::Crypt),
    ("CLEARTEXT", Form::Cleartext),
    ("CLEAR", Form::Cleartext),
    ("SHA", plain(Algorithm::Sha1)),
    ("MD5", plain(Algorithm::Md5)),
    ("SMD5", salted(Algorithm::Md5)),
    ("SHA256", plain(Algorithm::Sha256)),
    ("SHA384", plain(Algorithm::Sha384)),
    ("SHA512", plain(Algorithm::Sha512)),
    ("SSHA256", salted(Algorithm::Sha256)),
    ("SSHA384", salted(Algorithm::Sha384)),
    ("SSHA512", salted(Algorithm::Sha512)),
    ("PBKDF2", Form::Pbkdf2(Prf::Sha1)),
    ("PBKDF2-SHA1", Form::Pbkdf2(Prf::Sha1)),
    ("PBKDF2-SHA256", Form::Pbkdf2(Prf::Sha256)),
    ("PBKDF2-SHA512", Form::Pbkdf2(Prf::Sha512)),
    ("PBKDF2_SHA256", Form::Pbkdf2Binary),
    ("PKCS5S2", Form::Pkcs5s2),
    ("SASL", Form::Outside),
    ("K5KEY", Form::Foreign),
    ("NS-MTA-MD5", Form::NsMtaMd5),
    ("NT", Form::Nt),
    ("APR1", Form::Md5Crypt("$apr1$")),
    ("BSDMD5", Form::Md5Crypt("$1$")),
    ("SCRAM-SHA-1", Form::Scram(Prf::Sha1)),
    ("SCRAM-SHA-256", Form::Scram(Prf::Sha256)),
    ("SCRAM-SHA-512", Form::Scram(Prf::Sha512)),
    ("GOST_YESCRYPT", Form::Crypt),
    ("TOTP1", Form::Foreign),
    ("TOTP256", Form::Foreign),
    ("TOTP512", Form::Foreign),
    ("UNIX", Form::Foreign),
    ("LANMAN", Form::Foreign),
];

const fn plain(algorithm: Algorithm) -> Form {
    Form::Digest {
        algorithm,
        salted: false,
    }
}

const fn salted(algorithm: Algorithm) -> Form {
    Form::Digest {
        algorithm,
        salted: true,
    }
}

/// Returns the cost of verifying `stored`.
pub fn cost(stored: &[u8]) -> Cost {
    match split(stored) {
        None | Some((None, _)) => Cost::Fast,
        Some((Some(form), _)) => form.cost(),
    }
}

impl Form {
    fn cost(self) -> Cost {
        match self {
            Form::Cleartext | Form::Digest { .. } | Form::Foreign => Cost::Fast,
            Form::Nt | Form::NsMtaMd5 => Cost::Fast,
            Form::Md5Crypt(_) | Form::Crypt | Form::Pbkdf2(_) | Form::Pbkdf2Binary => Cost::Slow,
            Form::Pkcs5s2 | Form::Argon2 | Form::Scram(_) | Form::Outside => Cost::Slow,
        }
    }
}

/// Checks that `value`, a cleartext password or a stored value, may be stored.
///
/// # Errors
/// The value is too long, or its verification would take too much time or memory.
pub fn check(value: &[u8]) -> Result<(), Excess> {
    check_parts(value, split(value))
}

/// Checks a value that is already split.
#[inline]
fn check_parts(value: &[u8], parts: Option<(Option<Form>, &[u8])>) -> Result<(), Excess> {
    let (form, rest) = match parts {
        Some((Some(Form::Cleartext), rest)) => (None, rest),
        Some((Some(form), rest)) => (Some(form), rest),
        None | Some((None, _)) => (None, value),
    };
    let Some(form) = form else {
        let what = "octets in a password";
        return at_most(what, PASSWORD_OCTETS_MAX as u64, rest.len() as u64);
    };
    let what = "octets in a hashed password";
    at_most(what, STORED_OCTETS_MAX as u64, value.len() as u64)?;
    match form {
        Form::Crypt => crypt::check(rest),
        Form::Pbkdf2(prf) => pbkdf2::check(prf, rest),
        Form::Pbkdf2Binary => pbkdf2::check_binary(rest),
        Form::Argon2 => argon::check(rest),
        Form::Scram(prf) => ScramKeys::check(prf, rest),
        Form::Cleartext | Form::Digest { .. } | Form::Pkcs5s2 | Form::Foreign => Ok(()),
        Form::Md5Crypt(_) | Form::Nt | Form::NsMtaMd5 | Form::Outside => Ok(()),
    }
}

/// Returns whether `stored` was made from the password `given`. Unknown schemes, damaged values,
/// and values and passwords beyond the bounds of [`check`] match nothing.
pub fn verify(stored: &[u8], given: &[u8]) -> bool {
    let parts = split(stored);
    if given.len() > PASSWORD_OCTETS_MAX || check_parts(stored, parts).is_err() {
        return false;
    }
    let Some((form, rest)) = parts else {
        return stored.ct_eq(given).into();
    };
    match form {
        None | Some(Form::Foreign | Form::Outside) => false,
        Some(Form::Cleartext) => rest.ct_eq(given).into(),
        Some(Form::Digest { algorithm, salted }) => digest::verify(algorithm, salted, rest, given),
        Some(Form::Crypt) => crypt::verify(rest, given),
        Some(Form::Md5Crypt(magic)) => crypt::verify_md5_binary(magic, rest, given),
        Some(Form::Nt) => digest::verify_nt(rest, given),
        Some(Form::NsMtaMd5) => digest::verify_ns_mta_md5(rest, given),
        Some(Form::Pbkdf2(prf)) => pbkdf2::verify(prf, rest, given),
        Some(Form::Pbkdf2Binary) => pbkdf2::verify_binary(rest, given),
        Some(Form::Pkcs5s2) => pbkdf2::verify_pkcs5s2(rest, given),
        Some(Form::Argon2) => argon::verify(rest, given),
        Some(Form::Scram(prf)) => {
            ScramKeys::parse(prf, rest).is_some_and(|keys| keys.verify(given))
        }
    }
}

/// Returns the SCRAM keys in a stored value for this digest; `None` if it has none.
pub fn scram_keys(stored: &[u8], prf: Prf) -> Option<ScramKeys> {
    match split(stored)? {
        (Some(Form::Scram(of)), rest) if of == prf && check(stored).is_ok() => {
            ScramKeys::parse(prf, rest)
        }
        _ => None,
    }
}

/// Returns whether a stored value has the keys of SCRAM. Execution asks it, so what it says of a
/// value never changes within a format level.
pub fn is_verifier(stored: &[u8]) -> bool {
    matches!(split(stored), Some((Some(Form::Scram(_)), _)))
}

/// Returns whether `value` is a stored form to be kept as it is, not a password to be hashed. A
/// value with an unknown scheme is a password.
pub fn is_hashed(value: &[u8]) -> bool {
    match split(value) {
        None | Some((None | Some(Form::Cleartext), _)) => false,
        // `{K5KEY}` alone names an account of another program.
        Some((Some(Form::Foreign | Form::Outside), _)) => true,
        Some((Some(_), rest)) => !rest.is_empty(),
    }
}

/// Returns the user, `name` or `name@realm`, of a value `{SASL}user`, whose password another
/// program verifies; `None` for other values.
pub fn outside_user(stored: &[u8]) -> Option<&str> {
    match split(stored) {
        Some((Some(Form::Outside), user)) => std::str::from_utf8(user).ok(),
        _ => None,
    }
}

/// Returns the SHA-1 digest of a password in upper-case hexadecimal, by which lists of passwords
/// that became known are sorted.
pub fn sha1_of(password: &[u8]) -> String {
    digest::sha1_of(password)
}

/// Returns whether a stored value is a hash of traditional crypt(3), which anybody can break.
pub fn is_des(stored: &[u8]) -> bool {
    matches!(split(stored), Some((Some(Form::Crypt), rest)) if des::has_form(rest))
}

/// Splits a value into the scheme's form and the data; `None` when `stored` names no scheme.
fn split(stored: &[u8]) -> Option<(Option<Form>, &[u8])> {
    let rest = stored.strip_prefix(b"{")?;
    let end = rest.iter().position(|it| *it == b'}')?;
    let (name, rest) = (&rest[..end], &rest[end + 1..]);
    let scheme_byte = |it: &u8| it.is_ascii_alphanumeric() || b"-_./".contains(it);
    if name.is_empty() || !name.iter().all(scheme_byte) {
        return None;
    }
    let known = SCHEMES
        .iter()
        .find(|(it, _)| it.as_bytes().eq_ignore_ascii_case(name));
    Some((known.map(|(_, form)| *form), rest))
}

/// A scheme for new values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// {ARGON2ID} with 12 MiB and three passes: about 50 ms. The label is Dovecot's.
    #[default]
    Argon2id,
    /// {ARGON2}: the same hash under the only label that OpenLDAP knows.
    Argon2,
    /// {CRYPT} bcrypt with 2^11 rounds: about 100 ms.
    Bcrypt,
    /// {CRYPT} `$6$` with 5,000 rounds: about 3 ms.
    Sha512Crypt,
    /// {PBKDF2-SHA256} with 600,000 rounds: about 70 ms.
    Pbkdf2Sha256,
    /// {PBKDF2-SHA512} with 210,000 rounds: about 80 ms.
    Pbkdf2Sha512,
    /// {SCRAM-SHA-256} with 20,000 rounds, for the SASL mechanism of that name; about 3 ms.
    ScramSha256,
    /// {SCRAM-SHA-512} with 20,000 rounds.
    ScramSha512,
    /// {SSHA}: salted SHA-1. Fast, also for an attacker.
    Ssha,
    /// {SSHA256}.
    Ssha256,
    /// {SSHA384}.
    Ssha384,
    /// {SSHA512}.
    Ssha512,
    /// {CLEARTEXT}: not hashed.
    Cleartext,
}

/// Schemes, each with the name in stored values and the name in settings.
const NEW_SCHEMES: &[(Scheme, &str)] = &[
    (Scheme::Argon2id, "{ARGON2ID}"),
    (Scheme::Argon2, "{ARGON2}"),
    (Scheme::Bcrypt, "{BCRYPT}"),
    (Scheme::Sha512Crypt, "{CRYPT}"),
    (Scheme::Pbkdf2Sha256, "{PBKDF2-SHA256}"),
    (Scheme::Pbkdf2Sha512, "{PBKDF2-SHA512}"),
    (Scheme::ScramSha256, "{SCRAM-SHA-256}"),
    (Scheme::ScramSha512, "{SCRAM-SHA-512}"),
    (Scheme::Ssha, "{SSHA}"),
    (Scheme::Ssha256, "{SSHA256}"),
    (Scheme::Ssha384, "{SSHA384}"),
    (Scheme::Ssha512, "{SSHA512}"),
    (Scheme::Cleartext, "{CLEARTEXT}"),
];

/// The error of a scheme name for which new values cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownScheme(String);

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of")?;
        for (at, (_, name)) in NEW_SCHEMES.iter().enumerate() {
            write!(f, "{} {name}", if at == 0 { "" } else { "," })?;
        }
        write!(f, "; got \"{}\"", self.0)
    }
}

impl std::error::Error for UnknownScheme {}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    /// Parses `{SSHA}` or `ssha`, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownScheme> {
        let name = text.trim_start_matches('{').trim_end_matches('}');
        NEW_SCHEMES
            .iter()
            .find(|(_, it)| it[1..it.len() - 1].eq_ignore_ascii_case(name))
            .map(|(scheme, _)| *scheme)
            .ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name) = NEW_SCHEMES
            .iter()
            .find(|(it, _)| it == self)
            .expect("every scheme is in the table");
        f.write_str(name)
    }
}

/// The reason why a password could not be hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashError {
    /// The system's random source is not available.
    Random(getrandom::Error),
    /// The scheme cannot hold this password (bcrypt: zero octets, or more than 71).
    Unsuitable(Scheme),
    /// The password is too long for every scheme.
    TooLong(Excess),
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HashError::Random(error) => write!(f, "no random bytes for a salt: {error}"),
            HashError::Unsuitable(scheme) => write!(f, "the password does not fit {scheme}"),
            HashError::TooLong(excess) => write!(f, "{excess}"),
        }
    }
}

impl std::error::Error for HashError {}

impl From<getrandom::Error> for HashError {
    fn from(error: getrandom::Error) -> Self {
        HashError::Random(error)
    }
}

/// Returns a stored value for the password `given`, with a new random salt.
///
/// # Errors
/// No random numbers, or a password longer than [`PASSWORD_OCTETS_MAX`] or unsuitable for the
/// scheme.
pub fn hash(hashing: impl Into<Hashing>, given: &[u8]) -> Result<String, HashError> {
    let Hashing { scheme, effort } = hashing.into();
    let (max, length) = (PASSWORD_OCTETS_MAX as u64, given.len() as u64);
    at_most("octets in a password", max, length).map_err(HashError::TooLong)?;
    let mut salt = [0; 16];
    getrandom::fill(&mut salt)?;
    let unsuitable = HashError::Unsuitable(scheme);
    let stored = match (scheme, effort) {
        (_, Effort::Argon2(effort)) => argon::hash(effort, &salt, given).ok_or(unsuitable)?,
        (_, Effort::Rounds(rounds)) => in_rounds(scheme, rounds, salt, given).ok_or(unsuitable)?,
        (Scheme::Ssha256, _) => digest::hash(Algorithm::Sha256, &salt, given),
        (Scheme::Ssha384, _) => digest::hash(Algorithm::Sha384, &salt, given),
        (Scheme::Ssha512, _) => digest::hash(Algorithm::Sha512, &salt, given),
        (Scheme::Cleartext, _) => String::from_utf8(given.to_vec()).map_err(|_| unsuitable)?,
        _ => digest::hash(Algorithm::Sha1, &salt[..8], given),
    };
    Ok(match scheme {
        // Without an extra module, slapd reads bcrypt only under {CRYPT}.
        Scheme::Bcrypt => format!("{{CRYPT}}{stored}"),
        _ => format!("{scheme}{stored}"),
    })
}

/// The data of a stored value in a scheme that has a number of rounds; `None` if the scheme cannot
/// hold the password.
fn in_rounds(scheme: Scheme, rounds: u32, salt: [u8; 16], given: &[u8]) -> Option<String> {
    let scram = |prf| ScramKeys::new(prf, rounds, &salt, given).print();
    Some(match scheme {
        Scheme::Bcrypt => return crypt::hash_bcrypt(rounds, salt, given),
        Scheme::Sha512Crypt => return crypt::hash_sha512(rounds, &salt, given),
        Scheme::ScramSha256 => scram(Prf::Sha256),
        Scheme::ScramSha512 => scram(Prf::Sha512),
        Scheme::Pbkdf2Sha512 => pbkdf2::hash(Prf::Sha512, rounds, &salt, given),
        _ => pbkdf2::hash(Prf::Sha256, rounds, &salt, given),
    })
}

impl Scheme {
    /// Returns the cost of verifying a value of this scheme.
    pub fn cost(self) -> Cost {
        match self {
            Scheme::Argon2id | Scheme::Argon2 | Scheme::Bcrypt | Scheme::Sha512Crypt => Cost::Slow,
            Scheme::Pbkdf2Sha256 | Scheme::Pbkdf2Sha512 => Cost::Slow,
            Scheme::ScramSha256 | Scheme::ScramSha512 => Cost::Slow,
            Scheme::Ssha | Scheme::Ssha256 | Scheme::Ssha384 | Scheme::Ssha512 => Cost::Fast,
            Scheme::Cleartext => Cost::Fast,
        }
    }

    /// Returns the digest of the SCRAM mechanism that uses values of this scheme.
    pub fn scram(self) -> Option<Prf> {
        match self {
            Scheme::ScramSha256 => Some(Prf::Sha256),
            Scheme::ScramSha512 => Some(Prf::Sha512),
            _ => None,
        }
    }
}

/// Returns a random password of `length` characters from an alphabet without look-alikes, for
/// passwords that the server chooses (RFC 3062 §2). Each of 57 characters gives 5.8 bits.
///
/// # Errors
/// The system's random source is not available.
pub fn generate_password(length: usize) -> Result<String, getrandom::Error> {
    const CHARACTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    // Octets beyond the last whole multiple would favour the first characters.
    const FAIR: u8 = (256 / CHARACTERS.len() * CHARACTERS.len()) as u8;
    let mut password = String::with_capacity(length);
    let mut bytes = [0; 64];
    while password.len() < length {
        getrandom::fill(&mut bytes)?;
        let fair = bytes.iter().filter(|it| **it < FAIR);
        for byte in fair.take(length - password.len()) {
            password.push(char::from(
                CHARACTERS[usize::from(*byte) % CHARACTERS.len()],
            ));
        }
    }
    Ok(password)
}
