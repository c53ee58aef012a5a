//! Times and UUIDs as text, in the forms of attribute values.

/// Returns the text form of a UUID (RFC 4122 §3), as in `entryUUID`.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Parses the text form of a UUID; `None` for other text.
pub fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut uuid = [0; 16];
    let mut digits = text.iter().filter(|it| **it != b'-');
    for byte in &mut uuid {
        let mut digit = || char::from(*digits.next()?).to_digit(16);
        *byte = u8::try_from(digit()? * 16 + digit()?).ok()?;
    }
    (digits.next().is_none() && text.len() == 36).then_some(uuid)
}

/// A time split into its civil parts (UTC).
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    second_of_day: u64,
}

impl Civil {
    /// Converts days to a civil date after Hinnant's `civil_from_days`, for dates from 1970 on.
    fn from_seconds(seconds: u64) -> Civil {
        let days = seconds / 86_400 + 719_468;
        let era = days / 146_097;
        let of_era = days % 146_097;
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        Civil {
            year,
            month,
            day,
            second_of_day: seconds % 86_400,
        }
    }
}

/// Returns a generalized time (RFC 4517 §3.3.13) with whole seconds: `20261121090000Z`.
pub fn generalized_time(time_us: u64) -> String {
    let mut text = String::with_capacity(15);
    put_seconds(&mut text, time_us);
    text.push('Z');
    text
}

/// Appends the fourteen digits of a time up to its whole seconds.
fn put_seconds(text: &mut String, time_us: u64) {
    let civil = Civil::from_seconds(time_us / 1_000_000);
    let of_day = civil.second_of_day;
    put::<10>(text, civil.year, 4);
    for part in [
        civil.month,
        civil.day,
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60,
    ] {
        put::<10>(text, part, 2);
    }
}

/// Appends a number with leading zeros up to a width, in a base up to 16. Every write has three of
/// these texts, and formatting by the standard library took a twentieth of its execution.
fn put<const BASE: u64>(text: &mut String, number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let (mut at, mut rest) = (digits.len(), number);
    while rest > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[(rest % BASE) as usize];
        rest /= BASE;
    }
    let at = at.min(digits.len() - width);
    text.extend(digits[at..].iter().copied().map(char::from));
}

/// Parses a generalized time in the form of [`generalized_time`] into seconds since 1970.
pub fn seconds_of(text: &[u8]) -> Option<u64> {
    let digits = text.strip_suffix(b"Z").filter(|it| it.len() == 14)?;
    let part = |from: usize, length: usize| -> Option<u64> {
        let text = std::str::from_utf8(digits.get(from..from + length)?).ok()?;
        text.bytes()
            .all(|it| it.is_ascii_digit())
            .then(|| text.parse().ok())?
    };
    let (year, month, day) = (part(0, 4)?, part(4, 2)?, part(6, 2)?);
    let (hour, minute, second) = (part(8, 2)?, part(10, 2)?, part(12, 2)?);
    // A leap second is the 60th (RFC 4517 §3.3.13).
    let of_a_clock = hour <= 23 && minute <= 59 && second <= 60;
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || !of_a_clock {
        return None;
    }
    // Converts a civil date to days after Hinnant's `days_from_civil`; the year begins in March.
    let year = if month <= 2 { year - 1 } else { year };
    let of_era = year % 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year / 400 * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Returns a generalized time with microseconds: `20261121090000.000042Z`.
pub fn exact_time(time_us: u64) -> String {
    let seconds = generalized_time(time_us);
    format!("{}.{:06}Z", &seconds[..14], time_us % 1_000_000)
}

/// Parses a generalized time in UTC, with whole seconds or a fraction, into microseconds since
/// 1970.
pub fn micros_of(text: &[u8]) -> Option<u64> {
    let (seconds, fraction) = match text.iter().position(|it| matches!(it, b'.' | b',')) {
        Some(at) => (&text[..at], text[at + 1..].strip_suffix(b"Z")?),
        None => (text.strip_suffix(b"Z")?, &b"0"[..]),
    };
    if fraction.is_empty() || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().chain(std::iter::repeat(&b'0')).take(6);
    let micros = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    let seconds = seconds_of(&[seconds, b"Z"].concat())?;
    Some(seconds * 1_000_000 + micros)
}

/// Returns a change sequence number in the form of OpenLDAP: time with microseconds, a counter for
/// changes of the same microsecond, the node, and a modification number.
pub fn change_sequence_number(time_us: u64, counter: u32, node: u16) -> String {
    let mut text = String::with_capacity(40);
    put_seconds(&mut text, time_us);
    text.push('.');
    put::<10>(&mut text, time_us % 1_000_000, 6);
    text.push_str("Z#");
    put::<16>(&mut text, counter.into(), 6);
    text.push('#');
    put::<16>(&mut text, node.into(), 3);
    text.push_str("#000000");
    text
}

/// Parses a change sequence number of this node, printed by [`change_sequence_number`], into time
/// and counter. `None` for any other text.
pub fn parse_change_sequence_number(text: &str) -> Option<(u64, u32)> {
    let digits = |from: usize, to: usize, radix: u32| -> Option<u64> {
        u64::from_str_radix(text.get(from..to)?, radix).ok()
    };
    let days = days_before(digits(0, 4, 10)?, digits(4, 6, 10)?, digits(6, 8, 10)?)?;
    let of_day = digits(8, 10, 10)? * 3_600 + digits(10, 12, 10)? * 60 + digits(12, 14, 10)?;
    let time_us = (days * 86_400 + of_day) * 1_000_000 + digits(15, 21, 10)?;
    let counter = u32::try_from(digits(23, 29, 16)?).ok()?;
    // Printing it again compares every character that the parser skipped.
    (change_sequence_number(time_us, counter, 0) == text.to_ascii_lowercase().replace('z', "Z"))
        .then_some((time_us, counter))
}

/// Returns the days from 1970-01-01 to a date, after Hinnant's `days_from_civil`; `None` before
/// 1970.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    Some(era * 146_097 + days - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_utc() {
        assert_eq!(generalized_time(0), "19700101000000Z");
        assert_eq!(generalized_time(951_782_400_000_000), "20000229000000Z");
        assert_eq!(generalized_time(1_795_251_723_000_000), "20261121090203Z");
        assert_eq!(
            change_sequence_number(1_795_251_723_000_042, 1, 0),
            "20261121090203.000042Z#000001#000#000000"
        );
        assert_eq!(
            change_sequence_number(1_795_251_723_999_999, 0x0abc_def1, 0x0fed),
            "20261121090203.999999Z#abcdef1#fed#000000"
        );
        assert_eq!(
            generalized_time(253_402_300_800_000_000),
            "100000101000000Z"
        );
    }

    #[test]
    fn times_are_read_as_they_are_printed() {
        for seconds in (0..5_000_000_000).step_by(12_345_678) {
            let text = generalized_time(seconds * 1_000_000);
            assert_eq!(seconds_of(text.as_bytes()), Some(seconds), "{text}");
        }
        for junk in [
            "",
            "Z",
            "20261321090203Z",
            "20261121240000Z",
            "20261121096000Z",
            "20261121090099Z",
            "2026112109020Z",
            "+0261121090203Z",
            "20261121",
        ] {
            assert_eq!(seconds_of(junk.as_bytes()), None, "{junk}");
        }
    }

    #[test]
    fn fractions_of_seconds_are_read() {
        let time_us = 1_795_251_723_000_042;
        assert_eq!(exact_time(time_us), "20261121090203.000042Z");
        let read = |text: &str| micros_of(text.as_bytes());
        assert_eq!(read("20261121090203.000042Z"), Some(time_us));
        assert_eq!(read("20261121090203,5Z"), Some(1_795_251_723_500_000));
        assert_eq!(read("20261121090203Z"), Some(1_795_251_723_000_000));
        for junk in [
            "",
            "Z",
            ".Z",
            "20261121090203.Z",
            "20261121090203.1",
            "2026.1Z",
        ] {
            assert_eq!(read(junk), None, "{junk}");
        }
    }
}
