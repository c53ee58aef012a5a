//! Fuzz body: stored passwords, whoever wrote them.

use super::{Form, Prf, ScramKeys, base64, is_hashed, scram_keys, split, verify};

/// Digits of a number of rounds for which a fuzzer has time.
const DIGITS_MAX: usize = 2;

/// A stored value is read and verified, unless it asks for more work than there is time for.
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
    for prf in [Prf::Sha1, Prf::Sha256, Prf::Sha512] {
        if let Some(keys) = scram_keys(bytes, prf) {
            let printed = keys.print();
            let again = ScramKeys::parse(prf, printed.as_bytes());
            assert_eq!(again.map(|it| it.print()), Some(printed));
        }
    }
    let Some((form, rest)) = split(bytes) else {
        // A password in the clear is right where it is the same.
        assert!(verify(bytes, bytes));
        return;
    };
    let quick = match form {
        // Their rounds are not written in digits, or have a number of their own.
        Some(Form::Crypt | Form::Pbkdf2Binary | Form::Pkcs5s2) => false,
        Some(Form::Argon2 | Form::Pbkdf2(_) | Form::Scram(_)) => is_short(rest),
        _ => true,
    };
    if quick {
        verify(bytes, b"secret");
    }
}

/// Whether every number is short.
fn is_short(text: &[u8]) -> bool {
    let mut numbers = text.split(|it| !it.is_ascii_digit());
    numbers.all(|it| it.len() <= DIGITS_MAX)
}
