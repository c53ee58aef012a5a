//! A point in the order of changes, as users give it.

use super::Frame;
use state::time::seconds_of;

/// A point in the order of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// After the change at this position.
    Position(u64),
    /// After the last change up to this time, in microseconds since 1970.
    Time(u64),
}

impl Point {
    /// Parses a position in digits, or a GeneralizedTime in UTC to the second, which includes that
    /// second.
    ///
    /// # Errors
    /// A text that says what was expected.
    pub fn parse(text: &str) -> Result<Point, String> {
        if let Ok(position) = text.parse() {
            return Ok(Point::Position(position));
        }
        match seconds_of(text.as_bytes()) {
            Some(seconds) => Ok(Point::Time((seconds + 1) * 1_000_000 - 1)),
            None => Err(format!(
                "expected a position or a time such as 20261121030000Z, got {text:?}"
            )),
        }
    }

    /// Whether a change is before the point.
    pub fn includes(self, frame: &Frame) -> bool {
        match self {
            Point::Time(until) => frame.time_us().is_some_and(|it| it <= until),
            Point::Position(until) => frame.position().is_some_and(|it| it <= until),
        }
    }
}
