//! Numbers as text: plain, padded, or by a pattern such as `#,##0`.

#[derive(Clone, Debug)]
pub(crate) enum NumberFormat {
    Plain,
    /// Number of digits, padded with zeros.
    Padded(usize),
    /// Text before and after, least number of digits, digits in a group (0 for no groups).
    Pattern {
        before: String,
        after: String,
        least: usize,
        group: usize,
    },
}

impl NumberFormat {
    /// Parses a number of digits (`4`) or a pattern of `#`, `0` and `,` (`#,##0`, `0000`).
    pub fn parse(pattern: &str) -> Result<NumberFormat, String> {
        let all_digits = !pattern.is_empty() && pattern.bytes().all(|byte| byte.is_ascii_digit());
        if all_digits && pattern.bytes().any(|byte| byte != b'0') {
            return match pattern.parse() {
                Ok(digits) if digits <= 64 => Ok(NumberFormat::Padded(digits)),
                _ => Err(format!("expected at most 64 digits, found {pattern}")),
            };
        }
        let is_digit = |c: char| matches!(c, '0' | '#' | ',');
        let none = || format!("expected 0 or # in {pattern:?}");
        let begin = pattern.find(is_digit).ok_or_else(none)?;
        let end = pattern.rfind(is_digit).map_or(begin, |last| last + 1);
        let digits = &pattern[begin..end];
        if !digits.chars().all(is_digit) || digits.trim_start_matches(['#', ',']).contains('#') {
            return Err(format!(
                "expected a pattern of #, 0 and ',', found {pattern:?}"
            ));
        }
        let group = digits.rsplit_once(',').map_or(0, |(_, last)| last.len());
        Ok(NumberFormat::Pattern {
            before: pattern[..begin].to_owned(),
            after: pattern[end..].to_owned(),
            least: digits.bytes().filter(|&byte| byte == b'0').count(),
            group,
        })
    }
}

/// Appends a number with at least `digits` digits.
pub(crate) fn put_number(out: &mut Vec<u8>, number: i64, digits: usize) {
    let mut text = [b'0'; 20];
    let mut at = text.len();
    let mut rest = number.unsigned_abs();
    while rest > 0 || at == text.len() {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        out.push(b'-');
    }
    out.resize(out.len() + digits.saturating_sub(text.len() - at), b'0');
    out.extend_from_slice(&text[at..]);
}

/// Appends a number in a format.
pub(crate) fn put_formatted(out: &mut Vec<u8>, number: i64, format: &NumberFormat) {
    match format {
        NumberFormat::Plain => put_number(out, number, 0),
        NumberFormat::Padded(digits) => put_number(out, number, *digits),
        NumberFormat::Pattern {
            before,
            after,
            least,
            group,
        } => {
            let mut digits = Vec::new();
            put_number(
                &mut digits,
                (number.unsigned_abs() & i64::MAX as u64) as i64,
                *least,
            );
            if number < 0 {
                out.push(b'-');
            }
            out.extend_from_slice(before.as_bytes());
            let count = digits.len();
            for (position, digit) in digits.into_iter().enumerate() {
                if position > 0 && *group > 0 && (count - position) % group == 0 {
                    out.push(b',');
                }
                out.push(digit);
            }
            out.extend_from_slice(after.as_bytes());
        }
    }
}
