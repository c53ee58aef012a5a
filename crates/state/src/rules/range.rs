//! Ranges of numbers: `10000-19999`, or `10000-` without an end.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The numbers from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NumberRange {
    /// The first number.
    pub low: u128,
    /// The last number.
    pub high: u128,
}

impl FromStr for NumberRange {
    type Err = String;

    fn from_str(text: &str) -> Result<NumberRange, String> {
        let expected = || format!("expected a range such as 10000-19999 or 10000-, got \"{text}\"");
        let (low, high) = text.split_once('-').ok_or_else(expected)?;
        let low = low.trim().parse().map_err(|_| expected())?;
        let high = match high.trim() {
            "" => u128::MAX,
            high => high.parse().map_err(|_| expected())?,
        };
        match low <= high {
            true => Ok(NumberRange { low, high }),
            false => Err(expected()),
        }
    }
}

impl Display for NumberRange {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.high {
            u128::MAX => write!(out, "{}-", self.low),
            high => write!(out, "{}-{high}", self.low),
        }
    }
}

/// Returns the ranges in ascending order; an error if two of them share a number.
pub(super) fn disjoint(mut ranges: Vec<NumberRange>) -> Result<Vec<NumberRange>, String> {
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        if pair[1].low <= pair[0].high {
            return Err(format!("the ranges {} and {} overlap", pair[0], pair[1]));
        }
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_back() {
        for text in ["0-0", "10000-19999", "5-"] {
            let range: NumberRange = text.parse().expect(text);
            assert_eq!(range.to_string(), text);
        }
        let spaced: NumberRange = "1 - 2".parse().expect("spaces do no harm");
        assert_eq!((spaced.low, spaced.high), (1, 2));
        for text in ["", "-", "5", "-5", "9-1", "a-b", "1-2-3", "-1-5"] {
            assert!(text.parse::<NumberRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn overlap_is_found_in_any_order() {
        let ranges = |texts: &[&str]| {
            let ranges = texts.iter().map(|text| text.parse().expect("a range"));
            disjoint(ranges.collect())
        };
        let sorted = ranges(&["30-39", "10-19", "20-29"]).expect("disjoint");
        assert_eq!(
            sorted.iter().map(|it| it.low).collect::<Vec<_>>(),
            [10, 20, 30]
        );
        let problem = ranges(&["30-", "10-30"]).expect_err("30 is in both");
        assert_eq!(problem, "the ranges 10-30 and 30- overlap");
    }
}
