//! Decimal numbers in stored passwords: rounds, costs and sizes.

/// Parses a number in decimal digits; `None` for empty text, for any other character (also a sign
/// or a space), and beyond 32 bits.
pub fn decimal(text: &[u8]) -> Option<u32> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}
