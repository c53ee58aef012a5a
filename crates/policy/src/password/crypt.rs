//! {CRYPT}: the `$id$…` forms of crypt(3) that are in use: `$1$` and `$apr1$` (MD5), `$5$` and
//! `$6$` (SHA-2), `$2a$`, `$2b$`, `$2y$` (bcrypt), `$y$` (yescrypt) and `$gy$` (yescrypt with
//! GOST); and traditional DES, which the settings have to allow.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::Digest;
use streebog::Streebog256;
use subtle::ConstantTimeEq;

use super::decimal::decimal;
use super::excess::{Excess, at_most};
use super::{base64, des};

/// The alphabet of crypt(3), least significant six bits first.
pub(super) const ALPHABET: &[u8; 64] =
    b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Rounds of SHA-crypt at most: about a second of work. crypt(3) allows 999,999,999, half an hour
/// of work; passlib makes 656,000.
pub(super) const SHA_ROUNDS_MAX: u64 = 1_000_000;
/// Rounds times blocks of 64 octets of the password at most; each round digests these about twice.
const SHA_WORK_MAX: u64 = 4_000_000;
/// Cost of bcrypt at most; each step doubles the work: 2^14 rounds take a second and a half.
pub(super) const BCRYPT_COST_MAX: u64 = 14;
/// Blocks N * r of yescrypt at most, of 128 octets each: 256 MiB.
const YESCRYPT_BLOCKS_MAX: u64 = 1 << 21;
/// Lanes of yescrypt at most. Each is as much work as one, in a part of the memory.
const YESCRYPT_LANES_MAX: u64 = 16;
/// Characters of a salt of yescrypt at most: 64 octets.
const SALT_CHARACTERS_MAX: usize = 86;

/// Cost of new values of bcrypt: 2^11 rounds take about 0.1 s.
pub(super) const BCRYPT_COST: u32 = 11;
/// Rounds of new values of SHA-crypt, the ones that are meant where a value names none.
pub(super) const SHA_ROUNDS: u32 = sha_crypt::Params::RECOMMENDED_ROUNDS;

/// The cost of a stored value in one of the forms that new values have.
pub(super) enum Kept {
    /// bcrypt with this binary logarithm of rounds.
    Bcrypt(u32),
    /// SHA-512-crypt with so many rounds.
    Sha512(u32),
}

/// The cost of a stored value; `None` if it has a form that new values never have.
pub(super) fn effort(stored: &[u8]) -> Option<Kept> {
    let text = std::str::from_utf8(stored).ok()?;
    let (id, rest) = text.strip_prefix('$')?.split_once('$')?;
    match id {
        "6" => Some(Kept::Sha512(match rest.strip_prefix("rounds=") {
            Some(rest) => decimal(rest.split('$').next()?.as_bytes())?,
            None => SHA_ROUNDS,
        })),
        "2a" | "2b" | "2y" => Some(Kept::Bcrypt(decimal(rest.get(..2)?.as_bytes())?)),
        _ => None,
    }
}

/// Refuses a value whose verification would take too much time or memory. Damaged values take none.
pub fn check(stored: &[u8]) -> Result<(), Excess> {
    let text = std::str::from_utf8(stored).unwrap_or_default();
    let Some((id, rest)) = text.strip_prefix('$').and_then(|it| it.split_once('$')) else {
        return Ok(());
    };
    match id {
        "5" | "6" => {
            let rounds = rest
                .strip_prefix("rounds=")
                .and_then(|it| it.split_once('$'));
            let rounds = rounds.and_then(|(it, _)| decimal(it.as_bytes()));
            let rounds = rounds.unwrap_or(0);
            at_most("rounds of SHA-crypt", SHA_ROUNDS_MAX, rounds.into())
        }
        "2a" | "2b" | "2y" => {
            let cost = text.get(4..6).and_then(|it| decimal(it.as_bytes()));
            at_most(
                "as cost of bcrypt",
                BCRYPT_COST_MAX,
                cost.unwrap_or(0).into(),
            )
        }
        "y" | "gy" => check_yescrypt(rest),
        _ => Ok(()),
    }
}

fn check_yescrypt(rest: &str) -> Result<(), Excess> {
    let Some(Ok(params)) = rest.split('$').next().map(str::parse::<yescrypt::Params>) else {
        return Ok(());
    };
    let blocks = params.n().saturating_mul(params.r().into());
    at_most(
        "blocks of 128 octets for yescrypt",
        YESCRYPT_BLOCKS_MAX,
        blocks,
    )?;
    at_most("lanes of yescrypt", YESCRYPT_LANES_MAX, params.p().into())?;
    // The remaining parameters are the time t and the mode.
    let mode = yescrypt::Mode::default();
    let usual = yescrypt::Params::new(mode, params.n(), params.r(), params.p());
    let is_unusual = u64::from(usual != Ok(params));
    at_most("parameters of yescrypt beside N, r and p", 0, is_unusual)
}

/// Returns whether `stored`, the data behind `{CRYPT}`, was made from the password `given`.
pub fn verify(stored: &[u8], given: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(stored) else {
        return false;
    };
    let Some((id, rest)) = text.strip_prefix('$').and_then(|it| it.split_once('$')) else {
        return des::verify(stored, given);
    };
    match id {
        "1" => verify_md5("$1$", rest, given),
        "apr1" => verify_md5("$apr1$", rest, given),
        "5" | "6" => verify_sha(id, rest, given),
        "2a" | "2b" | "2y" => verify_bcrypt(text, given),
        "y" => verify_yescrypt(text, given),
        "gy" => verify_gost(text, given),
        _ => false,
    }
}

/// Verifies the data behind `$5$` or `$6$`: `[rounds=N$]salt$hash`.
fn verify_sha(id: &str, rest: &str, given: &[u8]) -> bool {
    let mut rest = rest;
    let mut rounds = sha_crypt::Params::RECOMMENDED_ROUNDS;
    if let Some(after) = rest.strip_prefix("rounds=") {
        let Some((number, after)) = after.split_once('$') else {
            return false;
        };
        let Some(number) = decimal(number.as_bytes()) else {
            return false;
        };
        // crypt(3) raises small numbers instead of refusing them.
        rounds = number.max(sha_crypt::Params::ROUNDS_MIN);
        rest = after;
    }
    let Some((salt, expected)) = rest.split_once('$') else {
        return false;
    };
    let Ok(params) = sha_crypt::Params::new(rounds) else {
        return false;
    };
    if !is_bounded(rounds, given.len()) {
        return false;
    }
    let hash = match id {
        "5" => sha256(salt, given, params),
        _ => sha512(salt, given, params),
    };
    hash.as_bytes().ct_eq(expected.as_bytes()).into()
}

/// Returns whether so many rounds with a password of so many octets are within the bounds.
pub(super) fn is_bounded(rounds: u32, octets: usize) -> bool {
    u64::from(rounds) * (1 + octets as u64 / 64) <= SHA_WORK_MAX
}

fn sha256(salt: &str, given: &[u8], params: sha_crypt::Params) -> String {
    let digest = sha_crypt::sha256_crypt(given, salt.as_bytes(), params);
    let mut hash = String::new();
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(&mut hash, digest[a], digest[b], digest[c], 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(&mut hash, 0, digest[31], digest[30], 3);
    hash
}

fn sha512(salt: &str, given: &[u8], params: sha_crypt::Params) -> String {
    let digest = sha_crypt::sha512_crypt(given, salt.as_bytes(), params);
    let mut hash = String::new();
    let (mut a, mut b, mut c) = (0, 21, 42);
    for _ in 0..21 {
        put(&mut hash, digest[a], digest[b], digest[c], 4);
        (a, b, c) = (b + 1, c + 1, a + 1);
    }
    put(&mut hash, 0, 0, digest[63], 2);
    hash
}

/// Returns `$6$salt$hash`, with the number of rounds unless it is the usual one.
pub fn hash_sha512(rounds: u32, salt: &[u8], given: &[u8]) -> Option<String> {
    if !is_bounded(rounds, given.len()) {
        return None;
    }
    let mut text = String::new();
    for byte in salt {
        text.push(char::from(ALPHABET[usize::from(byte & 0x3F)]));
    }
    let hash = sha512(&text, given, sha_crypt::Params::new(rounds).ok()?);
    Some(match rounds {
        SHA_ROUNDS => format!("$6${text}${hash}"),
        _ => format!("$6$rounds={rounds}${text}${hash}"),
    })
}

/// Appends three octets as `count` characters, the last octet's low bits first.
fn put(text: &mut String, high: u8, middle: u8, low: u8, count: usize) {
    let mut bits = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
    for _ in 0..count {
        text.push(char::from(ALPHABET[(bits & 0x3F) as usize]));
        bits >>= 6;
    }
}

fn verify_bcrypt(text: &str, given: &[u8]) -> bool {
    let cost = text.get(4..6).and_then(|it| decimal(it.as_bytes()));
    if cost.is_none() || text.len() != 60 {
        return false;
    }
    // C implementations stop at a zero octet and this one would not; both are unsafe, so it is
    // refused.
    !given.contains(&0) && bcrypt::verify(given, text).unwrap_or(false)
}

/// Returns `$2b$cost$…`.
pub fn hash_bcrypt(cost: u32, salt: [u8; 16], given: &[u8]) -> Option<String> {
    // bcrypt ignores octets beyond 72, so longer passwords are refused.
    if given.contains(&0) || given.len() > 71 {
        return None;
    }
    let parts = bcrypt::hash_with_salt(given, cost, salt).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoB))
}

fn verify_yescrypt(text: &str, given: &[u8]) -> bool {
    use yescrypt::PasswordVerifier;
    // An empty hash would match every password.
    if text.rsplit('$').next().is_none_or(|it| it.len() < 16) {
        return false;
    }
    yescrypt::Yescrypt::default()
        .verify_password(given, text)
        .is_ok()
}

/// Verifies `$gy$params$salt$hash`: yescrypt, then GOST R 34.11-2012 (RFC 6986) as two HMACs, as in
/// libxcrypt.
fn verify_gost(text: &str, given: &[u8]) -> bool {
    let Some((setting, expected)) = text.rsplit_once('$') else {
        return false;
    };
    let mut parts = setting.splitn(4, '$').skip(2);
    let (Some(params), Some(salt)) = (parts.next(), parts.next()) else {
        return false;
    };
    let params = params.parse::<yescrypt::Params>();
    let (Ok(params), Some(salt)) = (params, from_alphabet(salt)) else {
        return false;
    };
    let mut key = [0; 32];
    if yescrypt::yescrypt(given, &salt, &params, &mut key).is_err() {
        return false;
    }
    let outer = gost_hmac(&Streebog256::digest(given), setting.as_bytes());
    let hash = in_alphabet(&gost_hmac(&outer, &key));
    hash.as_bytes().ct_eq(expected.as_bytes()).into()
}

fn gost_hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Streebog256>::new_from_slice(key).expect("a key may have any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// The octets that characters of the alphabet stand for, six bits each, the lowest first; `None` if
/// there are others, or more of them than a salt has.
fn from_alphabet(text: &str) -> Option<Vec<u8>> {
    let (mut octets, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for character in text.bytes().take(SALT_CHARACTERS_MAX + 1) {
        let value = ALPHABET.iter().position(|it| *it == character)?;
        bits |= u32::try_from(value).ok()? << count;
        count += 6;
        if count >= 8 {
            octets.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    }
    (text.len() <= SALT_CHARACTERS_MAX).then_some(octets)
}

/// The characters for octets.
fn in_alphabet(octets: &[u8]) -> String {
    let mut text = String::new();
    for part in octets.chunks(3) {
        let octet = |at: usize| part.get(at).copied().unwrap_or(0);
        put(&mut text, octet(2), octet(1), octet(0), part.len() + 1);
    }
    text
}

/// Verifies base64 of a digest of MD5-crypt and its salt, as OpenLDAP's module `apr1`.
pub fn verify_md5_binary(magic: &str, encoded: &[u8], given: &[u8]) -> bool {
    let mut buffer = [0; 16 + 64];
    match base64::decode(encoded, &mut buffer).and_then(|it| it.split_at_checked(16)) {
        Some((expected, salt)) if !salt.is_empty() => md5_rounds(magic.as_bytes(), salt, given)
            .ct_eq(expected)
            .into(),
        _ => false,
    }
}

/// Verifies `salt$hash`, the data behind `$1$`: a thousand rounds of MD5, as introduced by FreeBSD;
/// Apache's form differs in `magic`.
fn verify_md5(magic: &str, rest: &str, given: &[u8]) -> bool {
    let Some((salt, expected)) = rest.split_once('$') else {
        return false;
    };
    let salt = &salt.as_bytes()[..salt.len().min(8)];
    let digest = md5_rounds(magic.as_bytes(), salt, given);
    let mut hash = String::new();
    for (a, b, c) in [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)] {
        put(&mut hash, digest[a], digest[b], digest[c], 4);
    }
    put(&mut hash, 0, 0, digest[11], 2);
    hash.as_bytes().ct_eq(expected.as_bytes()).into()
}

fn md5_rounds(magic: &[u8], salt: &[u8], given: &[u8]) -> [u8; 16] {
    let inner: [u8; 16] = Md5::new()
        .chain_update(given)
        .chain_update(salt)
        .chain_update(given)
        .finalize()
        .into();
    let mut start = Md5::new()
        .chain_update(given)
        .chain_update(magic)
        .chain_update(salt);
    let mut left = given.len();
    while left > 0 {
        start.update(&inner[..left.min(16)]);
        left = left.saturating_sub(16);
    }
    // One octet for each bit of the length: zero for a set bit, the password's first for a clear
    // one.
    let mut bits = given.len();
    while bits > 0 {
        match bits & 1 {
            1 => start.update([0]),
            _ => start.update(&given[..1]),
        }
        bits >>= 1;
    }
    let mut digest: [u8; 16] = start.finalize().into();
    for round in 0..1000 {
        let odd = round % 2 == 1;
        let mut next = Md5::new();
        next.update(if odd { given } else { &digest });
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(given);
        }
        next.update(if odd { &digest } else { given });
        digest = next.finalize().into();
    }
    digest
}
