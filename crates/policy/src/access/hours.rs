//! Times of the week in rules, in UTC: `Mon-Fri 08:00-18:00`.

use std::fmt;
use std::str::FromStr;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_MINUTES: u16 = 24 * 60;
const WEEK_MINUTES: u16 = 7 * DAY_MINUTES;

/// A minute of the week: 0 is Monday 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WeekMinute(u16);

impl WeekMinute {
    /// Returns the minute in which a moment lies, given in seconds of Unix time.
    pub fn at(unix_s: i64) -> WeekMinute {
        // Unix time begins on a Thursday.
        let minutes = unix_s.div_euclid(60) + i64::from(3 * DAY_MINUTES);
        WeekMinute(minutes.rem_euclid(i64::from(WEEK_MINUTES)) as u16)
    }

    /// Minutes since Monday 00:00 UTC.
    pub fn minutes(self) -> u16 {
        self.0
    }

    /// Minutes from this one to `other`, the next time it comes; 0 if they are equal.
    fn until(self, other: u16) -> u16 {
        (other + WEEK_MINUTES - self.0) % WEEK_MINUTES
    }
}

/// Times of the week: one or more windows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hours {
    windows: Vec<Window>,
}

/// The same hours of some consecutive days.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Window {
    first_day: u8,
    last_day: u8,
    /// Minute of the day with which it begins.
    from: u16,
    /// Minute of the day before which it ends; of the next day if it is not after `from`.
    to: u16,
}

impl Hours {
    /// Returns whether a minute is among these times.
    pub fn contains(&self, minute: WeekMinute) -> bool {
        self.spans().any(|(from, length)| {
            let since = (minute.0 + WEEK_MINUTES - from) % WEEK_MINUTES;
            since < length
        })
    }

    /// Number of minutes after `minute` for which the answer of [`Hours::contains`] is the same.
    pub fn steady_for(&self, minute: WeekMinute) -> u16 {
        let ends = self.spans().flat_map(|(from, length)| {
            [
                minute.until(from),
                minute.until((from + length) % WEEK_MINUTES),
            ]
        });
        // A boundary that is now is next met in a week.
        ends.filter(|it| *it > 0).min().unwrap_or(WEEK_MINUTES)
    }

    /// The first minute and the length of each span.
    fn spans(&self) -> impl Iterator<Item = (u16, u16)> {
        self.windows.iter().flat_map(|it| {
            let length = match it.to > it.from {
                true => it.to - it.from,
                false => it.to + DAY_MINUTES - it.from,
            };
            let days = (u16::from(it.last_day) + 7 - u16::from(it.first_day)) % 7 + 1;
            let first = u16::from(it.first_day);
            (0..days).map(move |day| ((first + day) % 7 * DAY_MINUTES + it.from, length))
        })
    }
}

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Hours, String> {
        let wrong = || {
            let form = "times of the week such as \"Mon-Fri 08:00-18:00, Sat 09:00-12:00\"";
            format!("expected {form}, got \"{text}\"")
        };
        let windows = text
            .split(',')
            .map(|it| window(it.trim()).ok_or_else(wrong));
        let windows = windows.collect::<Result<Vec<Window>, String>>()?;
        Ok(Hours { windows })
    }
}

fn window(text: &str) -> Option<Window> {
    let mut words = text.split_whitespace();
    let (mut first_day, mut last_day) = (0, 6);
    let mut word = words.next()?;
    let begins_with_day = word.starts_with(|it: char| it.is_ascii_alphabetic());
    if begins_with_day {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        (first_day, last_day) = (day(first)?, day(last)?);
        word = words.next().unwrap_or("00:00-24:00");
    }
    let (from, to) = word.split_once('-')?;
    let (from, to) = (minute_of_day(from)?, minute_of_day(to)?);
    let fits = from < DAY_MINUTES && from != to && words.next().is_none();
    fits.then_some(Window {
        first_day,
        last_day,
        from,
        to,
    })
}

fn day(text: &str) -> Option<u8> {
    let at = DAYS.iter().position(|it| it.eq_ignore_ascii_case(text))?;
    u8::try_from(at).ok()
}

fn minute_of_day(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |it: &str| it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= DAY_MINUTES).then_some(at)
}

impl fmt::Display for Hours {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, it) in self.windows.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let first = DAYS[usize::from(it.first_day)];
            write!(out, "{comma}{first}")?;
            if it.first_day != it.last_day {
                write!(out, "-{}", DAYS[usize::from(it.last_day)])?;
            }
            let (from, to) = (it.from, it.to);
            let (from_hour, to_hour) = (from / 60, to / 60);
            write!(
                out,
                " {from_hour:02}:{:02}-{to_hour:02}:{:02}",
                from % 60,
                to % 60
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_hold_minutes_until_they_end() {
        let minute = |day: u16, hour: u16| WeekMinute(day * DAY_MINUTES + hour * 60);
        let office: Hours = "Mon-Fri 08:00-18:00, sat 09:00-12:00".parse().unwrap();
        assert!(office.contains(minute(0, 8)) && office.contains(minute(4, 17)));
        assert!(!office.contains(minute(0, 18)) && !office.contains(minute(6, 9)));
        assert!(office.contains(minute(5, 9)));
        assert_eq!(office.steady_for(minute(0, 8)), 600);
        assert_eq!(office.steady_for(minute(6, 0)), DAY_MINUTES + 480);
        let night: Hours = "Sun 22:00-06:00".parse().unwrap();
        assert!(night.contains(minute(6, 23)) && night.contains(minute(0, 5)));
        assert!(!night.contains(minute(0, 6)) && !night.contains(minute(6, 5)));
        let turn: Hours = "Sat-Mon".parse().unwrap();
        assert!(turn.contains(minute(0, 1)) && turn.contains(minute(5, 0)));
        assert!(!turn.contains(minute(1, 0)));
    }

    #[test]
    fn a_moment_has_a_minute_of_the_week() {
        assert_eq!(WeekMinute::at(0), WeekMinute(3 * DAY_MINUTES));
        // 2026-11-23, a Monday, 22:00:59 UTC.
        assert_eq!(WeekMinute::at(1_795_471_259), WeekMinute(22 * 60));
        assert_eq!(WeekMinute::at(-60), WeekMinute(3 * DAY_MINUTES - 1));
    }

    #[test]
    fn printed_times_are_the_same_times() {
        for text in [
            "Mon-Sun 00:00-24:00",
            "Tue 22:30-05:15",
            "Fri-Mon 08:00-09:00, Wed 01:00-02:00",
        ] {
            let hours: Hours = text.parse().unwrap();
            assert_eq!(hours.to_string(), text);
        }
        assert_eq!(
            "08:00-09:00".parse::<Hours>().unwrap().to_string(),
            "Mon-Sun 08:00-09:00"
        );
        for text in [
            "",
            "Mon-",
            "Mon 8-9",
            "Mon 08:00-08:00",
            "24:00-25:00",
            "Mo 01:00-02:00",
            "Mon 01:00-02:00 x",
        ] {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
    }
}
