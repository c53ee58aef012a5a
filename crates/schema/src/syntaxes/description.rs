//! Parenthesised definitions (RFC 4512 §4.1) and braced specifications (RFC 3672).
//!
//! Only the outer form is checked; the parser of definitions reads the content when it is used.

/// Checks for `( … )` with every quote closed.
pub(crate) fn definition(value: &[u8]) -> Result<(), &'static str> {
    enclosed(value, b'(', b')', b'\'').ok_or("expected a definition in parentheses")
}

/// Checks for `{ … }` with every quote closed.
pub(crate) fn braced(value: &[u8]) -> Result<(), &'static str> {
    enclosed(value, b'{', b'}', b'"').ok_or("expected a specification in braces")
}

fn enclosed(value: &[u8], open: u8, close: u8, quote: u8) -> Option<()> {
    let text = std::str::from_utf8(value).ok()?.trim().as_bytes();
    let inner = text.strip_prefix(&[open])?.strip_suffix(&[close])?;
    let mut depth = 0usize;
    let mut quoted = false;
    for &byte in inner {
        if byte == quote {
            quoted = !quoted;
        } else if !quoted && byte == open {
            depth += 1;
        } else if !quoted && byte == close {
            depth = depth.checked_sub(1)?;
        }
    }
    (depth == 0 && !quoted).then_some(())
}
