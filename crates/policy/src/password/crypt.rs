//! {CRYPT}: the `$id$…` forms of crypt(3) that are in use: `$1$` and `$apr1$` (MD5), `$5$` and
//! `$6$` (SHA-2), `$2a$`, `$2b$`, `$2y$` (bcrypt), `$y$` (yescrypt). Traditional DES is not
//! verified: it was broken long ago.

use md5::Md5;
use sha2::Digest;
use subtle::ConstantTimeEq;

/// The alphabet of crypt(3), least significant six bits first.
const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// crypt(3)'s own bound is 999,999,999 rounds, which is half an hour of work.
const ROUNDS_MAX: u32 = 20_000_000;
/// bcrypt's work doubles with each step: 2^16 rounds take seconds.
const BCRYPT_COST_MAX: u32 = 16;
/// yescrypt takes 128 * N * r octets of memory: 1 GiB.
const YESCRYPT_BLOCKS_MAX: u64 = 1 << 23;

/// Whether `given` is the password of `stored`, which is what follows `{CRYPT}`.
pub fn verify(stored: &[u8], given: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(stored) else {
        return false;
    };
    let Some((id, rest)) = text.strip_prefix('$').and_then(|it| it.split_once('$')) else {
        return false;
    };
    match id {
        "1" => verify_md5("$1$", rest, given),
        "apr1" => verify_md5("$apr1$", rest, given),
        "5" | "6" => verify_sha(id, rest, given),
        "2a" | "2b" | "2y" => verify_bcrypt(text, given),
        "y" => verify_yescrypt(text, given),
        _ => false,
    }
}

/// What follows `$5$` or `$6$`: `[rounds=N$]salt$hash`.
fn verify_sha(id: &str, rest: &str, given: &[u8]) -> bool {
    let mut rest = rest;
    let mut rounds = sha_crypt::Params::RECOMMENDED_ROUNDS;
    if let Some(after) = rest.strip_prefix("rounds=") {
        let Some((number, after)) = after.split_once('$') else {
            return false;
        };
        let Some(number) = super::decimal(number.as_bytes()) else {
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
    if rounds > ROUNDS_MAX {
        return false;
    }
    let hash = match id {
        "5" => sha256(salt, given, params),
        _ => sha512(salt, given, params),
    };
    hash.as_bytes().ct_eq(expected.as_bytes()).into()
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

/// `$6$salt$hash` with the usual 5,000 rounds.
pub fn hash_sha512(salt: &[u8], given: &[u8]) -> String {
    let mut text = String::new();
    for byte in salt {
        text.push(char::from(ALPHABET[usize::from(byte & 0x3F)]));
    }
    let hash = sha512(&text, given, sha_crypt::Params::RECOMMENDED);
    format!("$6${text}${hash}")
}

/// Three octets as `count` characters, the last octet's low bits first.
fn put(text: &mut String, high: u8, middle: u8, low: u8, count: usize) {
    let mut bits = u32::from(high) << 16 | u32::from(middle) << 8 | u32::from(low);
    for _ in 0..count {
        text.push(char::from(ALPHABET[(bits & 0x3F) as usize]));
        bits >>= 6;
    }
}

fn verify_bcrypt(text: &str, given: &[u8]) -> bool {
    let cost = text.get(4..6).and_then(|it| super::decimal(it.as_bytes()));
    if cost.is_none_or(|it| it > BCRYPT_COST_MAX) || text.len() != 60 {
        return false;
    }
    // C implementations stop at a zero octet; ours would not, and both readings are unsafe.
    !given.contains(&0) && bcrypt::verify(given, text).unwrap_or(false)
}

/// `$2b$cost$…`.
pub fn hash_bcrypt(salt: [u8; 16], given: &[u8]) -> Option<String> {
    // 2^11 rounds: about 0.1 s. Octets beyond 72 would be ignored, so they are refused.
    if given.contains(&0) || given.len() > 71 {
        return None;
    }
    let parts = bcrypt::hash_with_salt(given, 11, salt).ok()?;
    Some(parts.format_for_version(bcrypt::Version::TwoB))
}

fn verify_yescrypt(text: &str, given: &[u8]) -> bool {
    use yescrypt::PasswordVerifier;
    let Some(Ok(params)) = text.split('$').nth(2).map(str::parse::<yescrypt::Params>) else {
        return false;
    };
    let blocks = params.n().checked_mul(u64::from(params.r()));
    if blocks.is_none_or(|it| it > YESCRYPT_BLOCKS_MAX) || params.p() > 16 {
        return false;
    }
    // An empty hash would match every password.
    if text.rsplit('$').next().is_none_or(|it| it.len() < 16) {
        return false;
    }
    yescrypt::Yescrypt::default()
        .verify_password(given, text)
        .is_ok()
}

/// What follows `$1$`: `salt$hash`, a thousand rounds of MD5, as FreeBSD invented it; Apache's
/// differs in `magic`.
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
    // One octet per bit of the length: zero for a set bit, the password's first for a clear one.
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
