//! Fuzz body: stored passwords of any origin.

use super::{Form, Hashing, Prf, Scheme, ScramKeys, base64, des};
use super::{is_hashed, scram_keys, split, verify};

/// Digits of a number of rounds at most, so that a fuzzer has time for them.
const DIGITS_MAX: usize = 2;

/// Reads and verifies a stored value, unless it requires more work than a fuzzer has time for.
pub fn password(bytes: &[u8]) {
    let mut buffer = [0; 64];
    if let Some(decoded) = base64::decode(bytes, &mut buffer) {
        let encoded = base64::encode(decoded);
        let mut again = [0; 64];
        assert_eq!(
            base64::decode(encoded.as_bytes(), &mut again),
            Some(decoded)
        );
    }
    let _ = is_hashed(bytes);
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if let Ok(hashing) = text.parse::<Hashing>() {
        assert_eq!(hashing.to_string().parse(), Ok(hashing));
    }
    let _ = Hashing::from(Scheme::default()).is_due(bytes);
    for prf in [Prf::Sha1, Prf::Sha256, Prf::Sha512] {
        if let Some(keys) = scram_keys(bytes, prf) {
            let printed = keys.print();
            let again = ScramKeys::parse(prf, printed.as_bytes());
            assert_eq!(again.map(|it| it.print()), Some(printed));
        }
    }
    let Some((form, rest)) = split(bytes) else {
        // A cleartext password matches itself.
        assert!(verify(bytes, bytes));
        return;
    };
    let quick = match form {
        Some(Form::Crypt) if des::has_form(rest) => true,
        // Rounds of these forms are not decimal digits, or are a fixed number.
        Some(Form::Crypt | Form::Pbkdf2Binary | Form::Pkcs5s2) => false,
        Some(Form::Argon2 | Form::Pbkdf2(_) | Form::Scram(_)) => is_short(rest),
        _ => true,
    };
    if quick {
        verify(bytes, b"secret");
    }
}

/// Returns whether every number in the text is short.
fn is_short(text: &[u8]) -> bool {
    let mut numbers = text.split(|it| !it.is_ascii_digit());
    numbers.all(|it| it.len() <= DIGITS_MAX)
}
