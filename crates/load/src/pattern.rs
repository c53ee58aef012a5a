//! Value patterns, as in the tools of the UnboundID LDAP SDK, for names, filters and values of load
//! jobs: `uid=user.[1-1000000],ou=oracle,dc=com`.
//!
//! | bracket | stands for |
//! |---|---|
//! | `[1-1000]` | a random number of the range |
//! | `[1:1000]` | the numbers of the range in turn, over all connections; then from the beginning |
//! | `[1:1000x5]` | every fifth |
//! | `[1:1000%0000]` | formatted: digits, `#`, `,` |
//! | `[random:8]`, `[random:8:abc]` | so many characters, a–z or of the set |
//! | `[file:path]` | a random line of a file |
//! | `[sequentialfile:path]`, `[streamfile:path]` | its lines in turn |
//! | `[timestamp]`, `[timestamp:ms]`, `[timestamp:s]` | now: generalized time, or a number |
//! | `[uuid]` | a random UUID |
//! | `[ref:2]` | the value of the second bracket of this operation, counted from its DN |
//! | `[[`, `]]` | a bracket |

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::number::{NumberFormat, put_formatted};
use crate::random::Random;

/// A compiled value pattern. Clones share the positions of sequences.
#[derive(Clone, Debug)]
pub struct Pattern {
    parts: Vec<Part>,
}

/// An error in a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Offset in the text, in octets.
    pub at: usize,
    /// Text of the error: the expected and the actual form.
    pub message: String,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at octet {}: {}", self.at, self.message)
    }
}

impl std::error::Error for PatternError {}

#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    Number {
        low: i64,
        step: u64,
        count: u64,
        format: NumberFormat,
        order: Order,
    },
    Characters {
        set: Arc<[u8]>,
        count: usize,
    },
    Line {
        lines: Arc<[Vec<u8>]>,
        order: Order,
    },
    Timestamp(TimeUnit),
    Uuid,
    Reference(usize),
}

#[derive(Clone, Debug)]
enum Order {
    Random,
    /// Number of values taken by all threads.
    Sequential(Arc<AtomicU64>),
}

#[derive(Clone, Copy, Debug)]
enum TimeUnit {
    GeneralizedTime,
    Milliseconds,
    Seconds,
}

/// The brackets of one operation: their values, and whether a sequence has ended.
#[derive(Debug)]
pub(crate) struct Turn {
    pub random: Random,
    /// Whether a sequence has restarted; an operation that needs each number once must then stop.
    pub exhausted: bool,
    octets: Vec<u8>,
    ends: Vec<usize>,
}

impl Turn {
    pub fn new(seed: u64) -> Turn {
        Turn {
            random: Random::new(seed),
            exhausted: false,
            octets: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Begins an operation.
    pub fn begin(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }

    /// Returns the range of a bracket's octets, by its number from 1; empty if there is no such
    /// bracket.
    fn component(&self, number: usize) -> std::ops::Range<usize> {
        let start = number
            .checked_sub(2)
            .and_then(|before| self.ends.get(before))
            .copied();
        match number.checked_sub(1).and_then(|at| self.ends.get(at)) {
            Some(&end) => start.unwrap_or(0)..end,
            None => 0..0,
        }
    }
}

impl Pattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut at = 0;
        // The loop is over octets: text outside of brackets may have characters of several octets.
        while let Some(rest @ [first, ..]) = text.as_bytes().get(at..) {
            if rest.starts_with(b"[[") || rest.starts_with(b"]]") {
                literal.push(*first);
                at += 2;
            } else if *first == b'[' {
                let rest = &text[at..];
                let Some(end) = rest.find(']') else {
                    let message = "expected ] after [; write [[ for a bracket".to_owned();
                    return Err(PatternError { at, message });
                };
                if !literal.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                }
                let part = bracket(&rest[1..end]);
                parts.push(part.map_err(|message| PatternError { at, message })?);
                at += end + 1;
            } else {
                literal.push(*first);
                at += 1;
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Pattern { parts })
    }

    /// Number of values of the longest sequence before it restarts; `None` without sequences.
    pub fn sequence_length(&self) -> Option<u64> {
        let length = |part: &Part| match part {
            Part::Number {
                count,
                order: Order::Sequential(_),
                ..
            } => Some(*count),
            Part::Line {
                lines,
                order: Order::Sequential(_),
            } => Some(lines.len() as u64),
            _ => None,
        };
        self.parts.iter().filter_map(length).max()
    }

    /// Returns the text of a pattern without brackets.
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Parses the text between brackets.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_slice()),
            _ => None,
        })
    }

    /// Returns this pattern with sequences of its own, which start at their first values.
    pub(crate) fn fork(mut self) -> Pattern {
        for part in &mut self.parts {
            if let Part::Number { order, .. } | Part::Line { order, .. } = part
                && let Order::Sequential(taken) = order
            {
                *taken = Arc::new(AtomicU64::new(0));
            }
        }
        self
    }

    /// Appends the next value; the octets of each bracket pass through `put`.
    #[inline]
    pub(crate) fn write_with(
        &self,
        out: &mut Vec<u8>,
        turn: &mut Turn,
        put: impl Fn(&mut Vec<u8>, &[u8]),
    ) {
        for part in &self.parts {
            if let Part::Text(text) = part {
                out.extend_from_slice(text);
                continue;
            }
            let start = turn.octets.len();
            part.write(turn);
            turn.ends.push(turn.octets.len());
            put(out, &turn.octets[start..]);
        }
    }

    /// Appends the next value unchanged.
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>, turn: &mut Turn) {
        self.write_with(out, turn, |out, octets| out.extend_from_slice(octets));
    }
}

impl Order {
    #[inline]
    fn next(&self, count: u64, random: &mut Random, exhausted: &mut bool) -> u64 {
        match self {
            Order::Random => random.below(count),
            Order::Sequential(taken) => {
                let position = taken.fetch_add(1, Ordering::Relaxed);
                *exhausted |= position >= count;
                position % count
            }
        }
    }
}

impl Part {
    /// Appends the value of a bracket to the turn's octets.
    #[inline]
    fn write(&self, turn: &mut Turn) {
        match self {
            Part::Text(text) => turn.octets.extend_from_slice(text),
            Part::Number {
                low,
                step,
                count,
                format,
                order,
            } => {
                let position = order.next(*count, &mut turn.random, &mut turn.exhausted);
                let number = low.wrapping_add(position.wrapping_mul(*step) as i64);
                put_formatted(&mut turn.octets, number, format);
            }
            Part::Characters { set, count } => {
                turn.random.characters(&mut turn.octets, set, *count);
            }
            Part::Line { lines, order } => {
                let count = lines.len() as u64;
                let position = order.next(count, &mut turn.random, &mut turn.exhausted);
                turn.octets.extend_from_slice(&lines[position as usize]);
            }
            Part::Timestamp(unit) => put_timestamp(&mut turn.octets, *unit),
            Part::Uuid => crate::random::put_uuid(&mut turn.octets, &mut turn.random),
            Part::Reference(number) => {
                let component = turn.component(*number);
                turn.octets.extend_from_within(component);
            }
        }
    }
}

fn bracket(text: &str) -> Result<Part, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let sequential = || Order::Sequential(Arc::new(AtomicU64::new(0)));
    match kind.to_ascii_lowercase().as_str() {
        "random" => {
            let (count, set) = match rest.split_once(':') {
                Some((count, set)) => (count, set),
                None => (rest, "abcdefghijklmnopqrstuvwxyz"),
            };
            let count = count
                .parse()
                .map_err(|_| format!("expected a length, found {count:?}"))?;
            if set.is_empty() || !set.is_ascii() || count > 1 << 20 {
                return Err("expected ASCII characters to draw from".to_owned());
            }
            Ok(Part::Characters {
                set: Arc::from(set.as_bytes()),
                count,
            })
        }
        "file" => Ok(Part::Line {
            lines: file(rest)?,
            order: Order::Random,
        }),
        "sequentialfile" | "streamfile" => Ok(Part::Line {
            lines: file(rest)?,
            order: sequential(),
        }),
        "timestamp" => match rest {
            "" => Ok(Part::Timestamp(TimeUnit::GeneralizedTime)),
            "ms" => Ok(Part::Timestamp(TimeUnit::Milliseconds)),
            "s" => Ok(Part::Timestamp(TimeUnit::Seconds)),
            _ => Err(format!(
                "expected [timestamp], [timestamp:ms] or [timestamp:s], not {rest:?}"
            )),
        },
        "uuid" | "guid" if rest.is_empty() => Ok(Part::Uuid),
        "ref" => match rest.parse() {
            Ok(number) if number > 0 => Ok(Part::Reference(number)),
            _ => Err(format!("expected the number of a bracket, found {rest:?}")),
        },
        _ => range(text, sequential),
    }
}

fn file(path: &str) -> Result<Arc<[Vec<u8>]>, String> {
    let octets = std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let line = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let lines: Vec<Vec<u8>> = octets
        .split(|&octet| octet == b'\n')
        .map(line)
        .filter(|line| !line.is_empty())
        .collect();
    match lines.is_empty() {
        true => Err(format!("expected at least one line in {path}")),
        false => Ok(lines.into()),
    }
}

/// Parses `low-high` or `low:high`, then an optional `x` and step, then an optional `%` and format.
fn range(text: &str, sequential: impl Fn() -> Order) -> Result<Part, String> {
    let expected = || format!("expected [1-9], [1:9], [random:…], [file:…] …, found [{text}]");
    let (text_range, format) = match text.split_once('%') {
        Some((range, format)) => (range, NumberFormat::parse(format)?),
        None => (text, NumberFormat::Plain),
    };
    let (text_range, step) = match text_range.split_once('x') {
        Some((range, step)) => (range, step.parse().map_err(|_| expected())?),
        None => (text_range, 1u64),
    };
    // The first character may be a minus sign.
    let at = text_range
        .get(1..)
        .and_then(|rest| rest.find(['-', ':']))
        .ok_or_else(expected)?
        + 1;
    let low: i64 = text_range[..at].parse().map_err(|_| expected())?;
    let high: i64 = text_range[at + 1..].parse().map_err(|_| expected())?;
    if high < low || step == 0 {
        return Err(format!(
            "expected a range that rises, found {low} to {high} step {step}"
        ));
    }
    let count = (high.abs_diff(low) / step).saturating_add(1);
    let order = if text_range.as_bytes()[at] == b':' {
        sequential()
    } else {
        Order::Random
    };
    Ok(Part::Number {
        low,
        step,
        count,
        format,
        order,
    })
}

fn put_timestamp(out: &mut Vec<u8>, unit: TimeUnit) {
    let now = clock_gettime(ClockId::Realtime);
    let ms = now.tv_nsec / 1_000_000;
    let text = match unit {
        TimeUnit::Seconds => now.tv_sec.to_string(),
        TimeUnit::Milliseconds => (now.tv_sec * 1_000 + ms).to_string(),
        TimeUnit::GeneralizedTime => generalized_time(now.tv_sec, ms),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Formats `YYYYMMDDhhmmss.mmmZ`; the date by the civil-from-days algorithm over 400-year eras.
fn generalized_time(seconds: i64, ms: i64) -> String {
    let (days, in_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (in_day / 3_600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, count: usize) -> Vec<String> {
        let pattern = Pattern::parse(text).unwrap();
        let mut turn = Turn::new(1);
        let value = |_| {
            let mut out = Vec::new();
            turn.begin();
            pattern.write(&mut out, &mut turn);
            String::from_utf8(out).unwrap()
        };
        (0..count).map(value).collect()
    }

    #[test]
    fn sequences_go_round() {
        assert_eq!(values("a[8:10]b", 4), ["a8b", "a9b", "a10b", "a8b"]);
        assert_eq!(values("[-1:9x5%000]", 3), ["-001", "004", "009"]);
        assert_eq!(values("[7:7%#,##0]", 1), ["7"]);
        assert_eq!(
            Pattern::parse("[1:9]-[1:20]").unwrap().sequence_length(),
            Some(20)
        );
    }

    #[test]
    fn letters_of_any_alphabet_stand_for_themselves() {
        assert_eq!(values("cn=üé[7:7]Ω]]", 1), ["cn=üé7Ω]"]);
        assert!(Pattern::parse("ü[é-9]").is_err());
    }

    #[test]
    fn a_sequence_tells_when_it_begins_anew() {
        let pattern = Pattern::parse("[1:2]").unwrap();
        let mut turn = Turn::new(0);
        let mut seen = Vec::new();
        for _ in 0..3 {
            pattern.clone().write(&mut Vec::new(), &mut turn);
            seen.push(turn.exhausted);
        }
        assert_eq!(seen, [false, false, true]);
    }

    #[test]
    fn random_numbers_and_characters_stay_inside() {
        for value in values("[-5--3]", 50) {
            assert!(
                (-5..=-3).contains(&value.parse::<i64>().unwrap()),
                "{value}"
            );
        }
        for value in values("[random:9:ab:]", 9) {
            assert!(
                value.len() == 9 && value.bytes().all(|byte| b"ab:".contains(&byte)),
                "{value}"
            );
        }
        assert!(
            values("[random:4]", 1)[0]
                .bytes()
                .all(|byte| byte.is_ascii_lowercase())
        );
        assert_eq!(values("[uuid]", 1)[0].len(), 36);
    }

    #[test]
    fn references_repeat_a_bracket() {
        let found = values("[1:3]/[random:2]/[ref:1]/[ref:3]", 2);
        assert!(
            found[0].ends_with("/1/1") && found[1].ends_with("/2/2"),
            "{found:?}"
        );
    }

    #[test]
    fn brackets_are_doubled() {
        assert_eq!(values("[[a]]", 1), ["[a]"]);
        assert_eq!(
            Pattern::parse("[[a]]").unwrap().constant(),
            Some(&b"[a]"[..])
        );
        assert_eq!(Pattern::parse("x[1-").unwrap_err().at, 1);
        assert!(Pattern::parse("[9-1]").is_err());
        assert!(Pattern::parse("[nonsense]").is_err());
    }

    #[test]
    fn lines_of_a_file() {
        let path = std::env::temp_dir().join(format!("pando-pattern-{}", std::process::id()));
        std::fs::write(&path, "one\r\n\ntwo\n").unwrap();
        let text = format!("[sequentialfile:{}]", path.display());
        assert_eq!(values(&text, 3), ["one", "two", "one"]);
        assert_eq!(values(&format!("[file:{}]", path.display()), 1)[0].len(), 3);
        std::fs::remove_file(path).unwrap();
        assert!(Pattern::parse("[file:/none]").is_err());
    }

    #[test]
    fn times_are_written_as_generalized_time() {
        assert_eq!(generalized_time(0, 7), "19700101000000.007Z");
        assert_eq!(generalized_time(951_782_399, 999), "20000228235959.999Z");
        assert_eq!(generalized_time(951_782_400, 0), "20000229000000.000Z");
        assert_eq!(generalized_time(1_767_225_599, 0), "20251231235959.000Z");
        assert!(values("[timestamp]", 1)[0].ends_with('Z'));
        assert_eq!(values("[timestamp:ms]", 1)[0].len(), 13);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z0-9:%#\\[\\],.x-]{0,40}") {
            if let Ok(pattern) = Pattern::parse(&text) {
                let mut turn = Turn::new(0);
                for _ in 0..3 {
                    turn.begin();
                    pattern.write(&mut Vec::new(), &mut turn);
                }
            }
        }
    }
}
