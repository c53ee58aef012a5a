//! Base64 of stored passwords, decoded into a buffer of the caller.
//!
//! The alphabet is the standard one (RFC 4648 §4), with `.` accepted for `+` as in PBKDF2 values;
//! padding is optional, since some tools drop it. Verifying a salted SHA-1 costs about 0.1 µs, of
//! which an allocation would be a visible part.

/// Mark of an octet that is not in the alphabet.
const INVALID: u8 = 0xFF;

const VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [INVALID; 256];
    let mut at = 0;
    while at < alphabet.len() {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values[b'.' as usize] = 62;
    values
}

/// Decodes `text` into `buffer`. `None` when a byte is not base64 or the buffer is too small.
pub fn decode<'b>(text: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let mut text = text;
    while let [rest @ .., b'='] = text {
        text = rest;
    }
    let length = text.len() / 4 * 3 + [0, 0, 1, 2][text.len() % 4];
    if text.len() % 4 == 1 || length > buffer.len() {
        return None;
    }
    let mut seen = 0u8;
    let (whole, rest) = text.as_chunks::<4>();
    for ([a, b, c, d], three) in whole.iter().zip(buffer.chunks_exact_mut(3)) {
        let [a, b, c, d] = [a, b, c, d].map(|it| VALUES[usize::from(*it)]);
        seen |= a | b | c | d;
        three[0] = a << 2 | b >> 4;
        three[1] = b << 4 | c >> 2;
        three[2] = c << 6 | d;
    }
    let (start, mut bits) = (whole.len() * 3, 0u32);
    for (at, byte) in rest.iter().enumerate() {
        let value = VALUES[usize::from(*byte)];
        seen |= value;
        bits |= u32::from(value & 0x3F) << (18 - 6 * at);
    }
    for (at, byte) in buffer[start..length].iter_mut().enumerate() {
        *byte = (bits >> (16 - 8 * at)) as u8;
    }
    // A value of the alphabet has 6 bits; only [`INVALID`] sets more.
    (seen < 64).then_some(&buffer[..length])
}

/// Encodes with the standard alphabet and padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    protocol::base64::encode_into(&mut text, bytes);
    String::from_utf8(text).expect("base64 is ASCII")
}

/// Encodes as in PBKDF2 values: `.` for `+`, no padding.
pub fn encode_adapted(bytes: &[u8]) -> String {
    encode(bytes).replace('+', ".").replace('=', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_was_encoded() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut buffer = [0; 256];
        for length in 0..=bytes.len() {
            let text = encode(&bytes[..length]);
            assert_eq!(decode(text.as_bytes(), &mut buffer), Some(&bytes[..length]));
            let text = encode_adapted(&bytes[..length]);
            assert_eq!(decode(text.as_bytes(), &mut buffer), Some(&bytes[..length]));
        }
    }

    #[test]
    fn refuses_what_is_not_base64() {
        let mut buffer = [0; 8];
        for text in ["A", "AAAAA", "AA!A", "AAA\u{e9}", "AAAAAAAAAAAA", "AA=A"] {
            assert_eq!(decode(text.as_bytes(), &mut buffer), None, "{text}");
        }
    }
}
