//! ANONYMOUS (RFC 4505): a login as nobody, with a text that says who came.

use protocol::DecodeError;
use protocol::ber::decode_text;

use crate::refusal::Refusal;

/// Maximum length of the text in characters (RFC 4505 §2).
const TRACE_MAX: usize = 255;

/// Reads the text by which a client may say who it is, for the log; empty if it says nothing.
///
/// # Errors
/// `protocolError`: the text is not UTF-8, longer than 255 characters, or has control characters.
pub fn trace(credentials: &[u8]) -> Result<&str, Refusal> {
    let malformed = |error: DecodeError| Refusal::malformed("ANONYMOUS (RFC 4505 §2)", error);
    let text = decode_text(credentials).map_err(malformed)?;
    let fits = text.chars().count() <= TRACE_MAX && !text.chars().any(char::is_control);
    match fits {
        true => Ok(text),
        false => Err(Refusal::protocol(
            "ANONYMOUS (RFC 4505 §2): expected at most 255 characters without control characters",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::ResultCode;

    #[test]
    fn the_text_is_short_and_printable() {
        let long = "é".repeat(TRACE_MAX);
        for fits in ["", "ada@example.com", "a token", &long] {
            assert_eq!(trace(fits.as_bytes()), Ok(fits));
        }
        let longer = "é".repeat(TRACE_MAX + 1);
        for refused in [&b"\xff"[..], b"two\nlines", b"\x1b[2J", longer.as_bytes()] {
            let refusal = trace(refused).unwrap_err();
            assert_eq!(refusal.code, ResultCode::PROTOCOL_ERROR);
        }
    }
}
