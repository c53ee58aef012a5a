//! Search for a number that no entry holds, in a bounded number of look-ups.
//!
//! The search depends only on the holders of numbers, not on indexes, so every node that executes a
//! write in the same state finds the same number.

use crate::stop::Stop;
use std::collections::BinaryHeap;

/// Count of numbers tried one after another, so that few gaps are left.
const ONE_BY_ONE: u128 = 256;
/// Maximum number of look-ups in the middle of gaps, if the last number of a range is held too. All
/// look-ups together are about a thousand, which takes milliseconds.
const MIDDLES_MAX: usize = 512;

/// Whether an entry holds a number.
pub(super) type IsHeld<'h> = dyn FnMut(u128) -> Result<bool, Stop> + 'h;

/// Returns a number from `first` to `last` that no entry holds: usually the next one; behind 256
/// held numbers the end of a run of them. `None` if no number is free, or so few that the search
/// misses them.
pub(super) fn free_number(
    first: u128,
    last: u128,
    is_held: &mut IsHeld<'_>,
) -> Result<Option<u128>, Stop> {
    if first > last {
        return Ok(None);
    }
    let near = last.min(first.saturating_add(ONE_BY_ONE - 1));
    for number in first..=near {
        if !is_held(number)? {
            return Ok(Some(number));
        }
    }
    // From here on the step doubles: a million held numbers take twelve steps.
    let mut gaps = BinaryHeap::new();
    let (mut held, mut step) = (near, ONE_BY_ONE);
    while held < last {
        let next = last.min(held.saturating_add(step));
        if !is_held(next)? {
            return end_of_held(held, next, is_held).map(Some);
        }
        gaps.push((next - held, held));
        (held, step) = (next, step.saturating_mul(2));
    }
    in_gaps(gaps, is_held)
}

/// Tries the middles of gaps between held numbers, widest gap first. A gap is its width and its
/// start.
fn in_gaps(
    mut gaps: BinaryHeap<(u128, u128)>,
    is_held: &mut IsHeld<'_>,
) -> Result<Option<u128>, Stop> {
    for _ in 0..MIDDLES_MAX {
        let Some((width, held)) = gaps.pop().filter(|(width, _)| *width > 1) else {
            return Ok(None);
        };
        let half = width / 2;
        let middle = held + half;
        if !is_held(middle)? {
            return end_of_held(held, middle, is_held).map(Some);
        }
        gaps.push((half, held));
        gaps.push((width - half, middle));
    }
    Ok(None)
}

/// Returns a free number directly behind a held one, between the two given.
fn end_of_held(mut held: u128, mut free: u128, is_held: &mut IsHeld<'_>) -> Result<u128, Stop> {
    while free - held > 1 {
        let middle = held + (free - held) / 2;
        match is_held(middle)? {
            true => held = middle,
            false => free = middle,
        }
    }
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::RangeInclusive;

    /// Maximum number of lookups of a search.
    const LOOKS_MAX: usize = 1_024;

    /// The result if these numbers are held.
    fn found(first: u128, last: u128, held: &[RangeInclusive<u128>]) -> Option<u128> {
        let mut looks = 0;
        let found = free_number(first, last, &mut |number| {
            looks += 1;
            assert!((first..=last).contains(&number), "{number}");
            Ok(held.iter().any(|it| it.contains(&number)))
        });
        assert!(looks <= LOOKS_MAX, "{looks} looks");
        let found = found.expect("looks do not fail");
        assert!(found.is_none_or(|it| !held.iter().any(|held| held.contains(&it))));
        found
    }

    #[test]
    fn small_holes_are_filled() {
        assert_eq!(found(10, 19, &[]), Some(10));
        assert_eq!(found(10, 19, &[10..=11, 13..=14]), Some(12));
        assert_eq!(found(10, 19, &[10..=18]), Some(19));
        assert_eq!(found(10, 19, &[10..=19]), None);
        assert_eq!(found(20, 19, &[]), None);
        assert_eq!(found(1, 300, &[1..=299]), Some(300));
    }

    #[test]
    fn millions_that_are_held_are_jumped_over() {
        let last = 30_009_999;
        assert_eq!(found(10_000, u128::MAX, &[10_000..=last]), Some(last + 1));
        assert_eq!(found(10_000, last + 1, &[10_000..=last]), Some(last + 1));
        assert_eq!(found(10_000, last, &[10_000..=last]), None);
        // The range ends at the greatest number.
        let far = u128::MAX - 1;
        assert_eq!(found(0, u128::MAX, &[0..=far]), Some(u128::MAX));
        assert_eq!(found(0, u128::MAX, &[0..=u128::MAX]), None);
    }

    #[test]
    fn a_number_that_is_held_at_the_end_hides_nothing() {
        let held = [10_000..=29_999, 60_000..=60_000];
        assert_eq!(found(10_000, 60_000, &held), Some(30_000));
        let held = [10_000..=29_999, 30_100..=60_000];
        assert_eq!(found(10_000, 60_000, &held), Some(30_000));
    }
}
