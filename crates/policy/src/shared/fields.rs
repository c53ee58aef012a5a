//! The numbers among the shared settings: their names, and where they are kept.

use crate::limits::{Limits, TimeToLive};
use std::ops::RangeInclusive;

/// The longest time to live: one year, in seconds.
const TTL_S_MAX: u64 = 31_557_600;
const U32_MAX: u64 = u32::MAX as u64;

/// A number in a struct of settings.
pub(super) struct Field<T> {
    /// The name in its section of the file.
    pub name: &'static str,
    /// The greatest number.
    pub max: u64,
    /// The number as the file has it.
    pub get: fn(&T) -> u64,
    /// Sets the number, which is at most `max`.
    pub set: fn(&mut T, u64),
}

/// A field of the struct with the name of the setting.
macro_rules! field {
    ($name:ident, $max:expr) => {
        Field {
            name: stringify!($name),
            max: $max,
            get: |it| u64::try_from(it.$name).unwrap_or(u64::MAX),
            set: |it, number| it.$name = number.try_into().unwrap_or(it.$name),
        }
    };
}

/// The limits of a subject.
pub(super) const LIMITS: &[Field<Limits>] = &[
    field!(size_entries_max, U32_MAX),
    Field {
        name: "time_s_max",
        max: U32_MAX / 1_000,
        get: |it| u64::from(it.time_ms_max / 1_000),
        set: |it, number| {
            let seconds = u32::try_from(number).unwrap_or(u32::MAX);
            it.time_ms_max = seconds.saturating_mul(1_000);
        },
    },
    field!(candidates_max, u64::MAX),
    field!(unindexed_searches_max, U32_MAX),
    field!(pending_operations_max, U32_MAX),
    field!(page_entries_max, U32_MAX),
    field!(paged_entries_max, u64::MAX),
    field!(sort_entries_max, U32_MAX),
    field!(followers_max, U32_MAX),
    field!(transactions_open_max, U32_MAX),
    field!(transaction_updates_max, U32_MAX),
    field!(transaction_bytes_max, usize::MAX as u64),
];

/// The times to live, in the names of the file.
pub(super) const TIMES_TO_LIVE: &[Field<TimeToLive>] = &[
    time_to_live(
        "ttl_default_s",
        |it| u64::from(it.default_s),
        |it, number| {
            it.default_s = number.try_into().unwrap_or(it.default_s);
        },
    ),
    time_to_live(
        "ttl_min_s",
        |it| u64::from(it.min_s),
        |it, number| {
            it.min_s = number.try_into().unwrap_or(it.min_s);
        },
    ),
    time_to_live(
        "ttl_max_s",
        |it| u64::from(it.max_s),
        |it, number| {
            it.max_s = number.try_into().unwrap_or(it.max_s);
        },
    ),
];

const fn time_to_live(
    name: &'static str,
    get: fn(&TimeToLive) -> u64,
    set: fn(&mut TimeToLive, u64),
) -> Field<TimeToLive> {
    Field {
        name,
        max: TTL_S_MAX,
        get,
        set,
    }
}

/// Reads a number within a range.
pub(super) fn whole_number(
    name: &str,
    text: &str,
    range: RangeInclusive<u64>,
) -> Result<u64, String> {
    let number = text.parse().ok().filter(|it| range.contains(it));
    number.ok_or_else(|| {
        let (from, to) = (range.start(), range.end());
        format!("{name}: expected a whole number from {from} to {to}, got {text}")
    })
}
