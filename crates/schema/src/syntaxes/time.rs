//! Generalized and UTC time in all their forms, converted to UTC (RFC 4517 §3.3.13, §3.3.34).
//!
//! The normal form is `YYYYMMDDhhmmss`, then a point and the fraction without trailing zeros, if
//! any. It has no `Z` at the end, with which half a second past would sort before the full second.

use smallvec::SmallVec;

/// Checks a generalized time.
pub(crate) fn generalized_time(value: &[u8]) -> Result<(), &'static str> {
    parse_generalized(value).map(|_| ()).ok_or(GENERALIZED)
}

/// Checks a UTC time.
pub(crate) fn utc_time(value: &[u8]) -> Result<(), &'static str> {
    parse_utc(value).map(|_| ()).ok_or(UTC)
}

/// Appends the normal form of a generalized time.
pub(crate) fn put_generalized_time(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    parse_generalized(value).ok_or(GENERALIZED)?.put(out);
    Ok(())
}

/// Appends the normal form of a UTC time; two-digit years from 50 on are in the 20th century.
pub(crate) fn put_utc_time(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    parse_utc(value).ok_or(UTC)?.put(out);
    Ok(())
}

/// Appends the normal form of the second `now_s` (Unix time) moved by a duration such as `-5d`: a
/// number and one of the units s, m, h, d, w; without a unit, seconds.
pub(crate) fn put_relative_time(
    duration: &[u8],
    now_s: i64,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let moment = parse_duration(duration)
        .and_then(|seconds| now_s.checked_add(seconds))
        .and_then(Moment::of_unix)
        .ok_or("expected a duration such as -5d")?;
    moment.put(out);
    Ok(())
}

/// Appends the pattern of a partial date and time such as `24D12M` or `2026Y`: the normal form of a
/// time with `?` for arbitrary digits. Units are Y, M, D, h, m, s, each at most once.
pub(crate) fn put_partial_time(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    const EXPECTED: &str = "expected a partial date such as 24D12M2026Y";
    let mut pattern = [b'?'; 14];
    let mut rest = value;
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (start, width, low, high) = match rest.get(digits) {
            Some(b'Y') => (0, 4, 0, 9999),
            Some(b'M') => (4, 2, 1, 12),
            Some(b'D') => (6, 2, 1, 31),
            Some(b'h') => (8, 2, 0, 23),
            Some(b'm') => (10, 2, 0, 59),
            Some(b's') => (12, 2, 0, 60),
            _ => return Err(EXPECTED),
        };
        let number = decimal(&rest[..digits]).filter(|it| (low..=high).contains(it));
        if pattern[start] != b'?' {
            return Err(EXPECTED);
        }
        let text = format!("{:0width$}", number.ok_or(EXPECTED)?);
        pattern[start..start + width].copy_from_slice(text.as_bytes());
        rest = &rest[digits + 1..];
    }
    if pattern == [b'?'; 14] {
        return Err(EXPECTED);
    }
    out.extend_from_slice(&pattern);
    Ok(())
}

/// Returns whether the normal form of a time has the digits of a pattern.
pub(crate) fn fits_pattern(normal: &[u8], pattern: &[u8]) -> bool {
    normal.len() >= pattern.len()
        && pattern
            .iter()
            .zip(normal)
            .all(|(wanted, digit)| *wanted == b'?' || wanted == digit)
}

const GENERALIZED: &str = "expected a generalized time such as 20260131235959Z";
const UTC: &str = "expected a UTC time such as 260131235959Z";

/// A point in time in UTC. The second may be 60, a leap second.
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    /// Decimal digits of the fraction of a second.
    fraction: SmallVec<[u8; 16]>,
}

fn parse_generalized(value: &[u8]) -> Option<Moment> {
    let mut text = Cursor { rest: value };
    let century = text.number(0, 99)?;
    let year = century * 100 + text.number(0, 99)?;
    let (month, day, hour) = (
        text.number(1, 12)?,
        text.number(1, 31)?,
        text.number(0, 23)?,
    );
    let mut moment = Moment {
        year,
        month,
        day,
        hour,
        minute: 0,
        second: 0,
        fraction: SmallVec::new(),
    };
    let mut parts = 1;
    if text.at_digit() {
        moment.minute = text.number(0, 59)?;
        parts = 2;
    }
    if parts == 2 && text.at_digit() {
        moment.second = text.number(0, 60)?;
        parts = 3;
    }
    if matches!(text.rest.first(), Some(b'.' | b',')) {
        text.rest = &text.rest[1..];
        moment.fraction = text.fraction()?;
        // The fraction belongs to the smallest part given: hour, minute or second.
        if parts == 1 {
            moment.minute = times_60(&mut moment.fraction);
        }
        if parts <= 2 {
            moment.second = times_60(&mut moment.fraction);
        }
    }
    while moment.fraction.last() == Some(&b'0') {
        moment.fraction.pop();
    }
    let offset = text.zone(true)?;
    moment.in_utc(offset)
}

fn parse_utc(value: &[u8]) -> Option<Moment> {
    let mut text = Cursor { rest: value };
    let year = text.number(0, 99)?;
    let year = if year < 50 { 2000 + year } else { 1900 + year };
    let (month, day) = (text.number(1, 12)?, text.number(1, 31)?);
    let (hour, minute) = (text.number(0, 23)?, text.number(0, 59)?);
    let second = if text.at_digit() {
        text.number(0, 60)?
    } else {
        0
    };
    let offset = if text.rest.is_empty() {
        0
    } else {
        text.zone(false)?
    };
    Moment {
        year,
        month,
        day,
        hour,
        minute,
        second,
        fraction: SmallVec::new(),
    }
    .in_utc(offset)
}

fn parse_duration(text: &[u8]) -> Option<i64> {
    let (number, unit) = match text.split_last()? {
        (b's', number) => (number, 1),
        (b'm', number) => (number, 60),
        (b'h', number) => (number, 3_600),
        (b'd', number) => (number, 86_400),
        (b'w', number) => (number, 604_800),
        _ => (text, 1),
    };
    std::str::from_utf8(number)
        .ok()?
        .parse::<i64>()
        .ok()?
        .checked_mul(unit)
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn at_digit(&self) -> bool {
        self.rest.first().is_some_and(u8::is_ascii_digit)
    }

    /// Reads two digits within bounds.
    fn number(&mut self, low: i64, high: i64) -> Option<i64> {
        let [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] = self.rest else {
            return None;
        };
        let number = i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
        self.rest = rest;
        (low..=high).contains(&number).then_some(number)
    }

    /// Reads one or more digits.
    fn fraction(&mut self) -> Option<SmallVec<[u8; 16]>> {
        let digits = self
            .rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let (fraction, rest) = self.rest.split_at(digits);
        self.rest = rest;
        (digits > 0).then(|| SmallVec::from_slice(fraction))
    }

    /// Reads the rest of the text as minutes east of UTC.
    fn zone(&mut self, minutes_optional: bool) -> Option<i64> {
        let sign = match self.rest {
            b"Z" => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let hours = self.number(0, 23)?;
        let absent = minutes_optional && self.rest.is_empty();
        let minutes = if absent { 0 } else { self.number(0, 59)? };
        self.rest
            .is_empty()
            .then_some(sign * (hours * 60 + minutes))
    }
}

/// Multiplies a decimal fraction by 60: returns the whole part and leaves the rest.
fn times_60(fraction: &mut [u8]) -> i64 {
    let mut carry = 0u32;
    for digit in fraction.iter_mut().rev() {
        let product = u32::from(*digit - b'0') * 60 + carry;
        *digit = b'0' + (product % 10) as u8;
        carry = product / 10;
    }
    i64::from(carry)
}

impl Moment {
    /// Converts the time of a clock `offset_min` minutes ahead of UTC to UTC; `None` for a day that
    /// does not exist or a year without four digits.
    fn in_utc(mut self, offset_min: i64) -> Option<Moment> {
        if self.day > days_of_month(self.year, self.month) {
            return None;
        }
        if offset_min != 0 {
            let days = days_before(self.year, self.month, self.day);
            let minutes = days * 1440 + self.hour * 60 + self.minute - offset_min;
            self.set_minutes(minutes);
        }
        (0..=9999).contains(&self.year).then_some(self)
    }

    fn of_unix(seconds: i64) -> Option<Moment> {
        let mut moment = Moment {
            year: 0,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: seconds.rem_euclid(60),
            fraction: SmallVec::new(),
        };
        let minutes = seconds.div_euclid(60);
        // Ten thousand years in days: later years cannot be written.
        if minutes.unsigned_abs() > 3_652_500 * 1440 {
            return None;
        }
        moment.set_minutes(days_before(1970, 1, 1) * 1440 + minutes);
        (0..=9999).contains(&moment.year).then_some(moment)
    }

    /// Sets date, hour and minute from minutes since the first day of year 0.
    fn set_minutes(&mut self, minutes: i64) {
        let (mut days, minute) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
        (self.hour, self.minute) = (minute / 60, minute % 60);
        // The first guess is at most one year early: a year has at most 366 days, on average
        // 365.2425.
        self.year = days.div_euclid(366);
        while days >= days_before(self.year + 1, 1, 1) {
            let left = days - days_before(self.year + 1, 1, 1);
            self.year += 1 + left.div_euclid(366);
        }
        days -= days_before(self.year, 1, 1);
        self.month = 1;
        while days >= days_of_month(self.year, self.month) {
            days -= days_of_month(self.year, self.month);
            self.month += 1;
        }
        self.day = days + 1;
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.reserve(15 + self.fraction.len());
        for number in [
            self.year / 100,
            self.year % 100,
            self.month,
            self.day,
            self.hour,
        ] {
            put_two(number, out);
        }
        put_two(self.minute, out);
        put_two(self.second, out);
        if self.fraction.iter().any(|digit| *digit != b'0') {
            out.push(b'.');
            out.extend_from_slice(&self.fraction);
        }
    }
}

fn put_two(number: i64, out: &mut Vec<u8>) {
    out.push(b'0' + (number / 10) as u8);
    out.push(b'0' + (number % 10) as u8);
}

fn decimal(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from the first day of year 0 (Gregorian) to this day.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let last = year - 1;
    let leap_years = last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) + 1;
    let months: i64 = (1..month).map(|month| days_of_month(year, month)).sum();
    year * 365 + leap_years + months + day - 1
}

/// Returns the whole seconds from 1970 to a GeneralizedTime; `None` for what is none.
pub(crate) fn unix_seconds(value: &[u8]) -> Option<i64> {
    let mut normal = Vec::new();
    put_generalized_time(value, &mut normal).ok()?;
    let number = |from: usize, to: usize| -> Option<i64> {
        std::str::from_utf8(normal.get(from..to)?)
            .ok()?
            .parse()
            .ok()
    };
    let days = days_before(number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let of_day = number(8, 10)? * 3_600 + number(10, 12)? * 60 + number(12, 14)?;
    Some((days - days_before(1970, 1, 1)) * 86_400 + of_day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<&str>) {
        let mut out = Vec::new();
        let found = put_generalized_time(value.as_bytes(), &mut out).ok();
        let found = found.map(|()| String::from_utf8(out).unwrap());
        assert_eq!(found.as_deref(), expected, "{value}");
    }

    #[test]
    fn every_form_of_generalized_time() {
        check("199412161032Z", Some("19941216103200"));
        check("199412160532-0500", Some("19941216103200"));
        check("20260131235959Z", Some("20260131235959"));
        check("2026013123Z", Some("20260131230000"));
        check("2026013123.5Z", Some("20260131233000"));
        check("2026013123,51Z", Some("20260131233036"));
        check("202601312310.25Z", Some("20260131231015"));
        check("2026013123.0001Z", Some("20260131230000.36"));
        check("20260131235959.1250Z", Some("20260131235959.125"));
        check("20260131235959.000Z", Some("20260131235959"));
        check("20261231235960Z", Some("20261231235960"));
        check("20270101013000+02", Some("20261231233000"));
        check("20260228233000-0130", Some("20260301010000"));
        check("20240228233000-0130", Some("20240229010000"));
        check("00000101000000Z", Some("00000101000000"));
    }

    #[test]
    fn not_a_generalized_time() {
        for value in [
            "",
            "2026",
            "20260131",
            "20261331000000Z",
            "20260230000000Z",
            "20260131240000Z",
            "20260131236000Z",
            "20260131235961Z",
            "20260131235959",
            "20260131235959.Z",
            "20260131235959Z ",
            "20260131235959+24",
            "20260131235959+1",
            "99991231235959-0001",
            "00000101000000+0001",
            "2026013123595Z",
            "20260131235959.5Zx",
        ] {
            check(value, None);
        }
    }

    #[test]
    fn normal_forms_stand_in_time_order() {
        let times = [
            "20251231235959Z",
            "20260101000000Z",
            "20260101000000.1Z",
            "20260101000000.15Z",
            "20260101000000.2Z",
            "20260101000001Z",
        ];
        let normal: Vec<Vec<u8>> = times
            .iter()
            .map(|time| {
                let mut out = Vec::new();
                put_generalized_time(time.as_bytes(), &mut out).unwrap();
                out
            })
            .collect();
        assert!(normal.is_sorted());
    }

    #[test]
    fn utc_time_has_a_century() {
        for (value, expected) in [
            ("9412161032Z", Some("19941216103200")),
            ("260131235959", Some("20260131235959")),
            ("260131235959+0100", Some("20260131225959")),
            ("26013123", None),
            ("260131235959+01", None),
        ] {
            let mut out = Vec::new();
            let found = put_utc_time(value.as_bytes(), &mut out).ok();
            let found = found.map(|()| String::from_utf8(out).unwrap());
            assert_eq!(found.as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn relative_and_partial_times() {
        let relative = |duration: &str| {
            let mut out = Vec::new();
            let done = put_relative_time(duration.as_bytes(), 1_700_000_000, &mut out);
            done.ok().map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(relative("0").as_deref(), Some("20231114221320"));
        assert_eq!(relative("-1d").as_deref(), Some("20231113221320"));
        assert_eq!(relative("2w").as_deref(), Some("20231128221320"));
        assert_eq!(relative("-53y"), None);
        assert_eq!(relative("-2000000000s").as_deref(), Some("19600629184000"));
        assert_eq!(relative("9999999999w"), None);
        let mut pattern = Vec::new();
        put_partial_time(b"24D12M", &mut pattern).unwrap();
        assert_eq!(pattern, b"????1224??????");
        assert!(fits_pattern(b"20261224180000.5", &pattern));
        assert!(!fits_pattern(b"20261225180000", &pattern));
        for wrong in ["", "13M", "12", "1M1M", "4X"] {
            assert!(
                put_partial_time(wrong.as_bytes(), &mut Vec::new()).is_err(),
                "{wrong}"
            );
        }
    }
}
