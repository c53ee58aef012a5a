//! How many bytes of records lie behind each place, as far as this process has read.

use std::collections::VecDeque;

/// Bytes between two marks: what the answers are off by.
const MARK_BYTES: u64 = 1 << 20;

/// Bytes of the log, by place.
#[derive(Default)]
pub(super) struct Volume {
    /// Bytes read so far.
    total: u64,
    /// Places with the bytes read up to them, ascending.
    marks: VecDeque<Mark>,
    /// Place of the last record.
    last: u64,
    /// Place up to which the log was last trimmed.
    floor: u64,
    /// Bytes read when the log was last trimmed.
    trimmed: u64,
}

struct Mark {
    place: u64,
    total: u64,
}

impl Volume {
    /// Counts a record.
    pub(super) fn add(&mut self, place: u64, bytes: usize) {
        self.last = place;
        self.total += bytes as u64;
        let last = self.marks.back().map_or(0, |it| it.total);
        if self.total - last >= MARK_BYTES {
            let total = self.total;
            self.marks.push_back(Mark { place, total });
        }
    }

    /// The last place behind which at least `bytes` of records lie, 0 if none is known.
    pub(super) fn place_before(&self, bytes: u64) -> u64 {
        let old = |it: &&Mark| self.total - it.total >= bytes;
        self.marks.iter().rev().find(old).map_or(0, |it| it.place)
    }

    /// Bytes of records behind a place, at most about those since the last trim.
    pub(super) fn behind(&self, place: u64) -> u64 {
        let before = self.marks.partition_point(|it| it.place <= place);
        let known = before.checked_sub(1).and_then(|at| self.marks.get(at));
        self.total - known.map_or(self.trimmed, |it| it.total)
    }

    /// Bytes of records since the last trim.
    pub(super) fn since_trim(&self) -> u64 {
        self.total - self.trimmed
    }

    /// Place of the last record read, 0 for none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Bytes read so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Another node has trimmed the log up to this place.
    pub(super) fn trimmed_by_another(&mut self, floor: u64) {
        if floor > self.floor {
            self.trimmed(floor, self.total);
        }
    }

    /// The log was trimmed up to this place, when so many bytes had been read.
    pub(super) fn trimmed(&mut self, floor: u64, total: u64) {
        self.floor = floor;
        self.trimmed = total;
        while self.marks.front().is_some_and(|it| it.place < floor) {
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_before_the_last_bytes() {
        let mut volume = Volume::default();
        assert_eq!(volume.place_before(0), 0);
        for place in 1..=100 {
            volume.add(place, 1 << 19);
        }
        // A mark each two records.
        assert_eq!(volume.place_before(10 << 20), 80);
        assert_eq!(volume.place_before(0), 100);
        assert_eq!(volume.place_before(1 << 30), 0);
        assert_eq!(volume.since_trim(), 50 << 20);
        assert_eq!(volume.behind(100), 0);
        assert_eq!(volume.behind(80), 10 << 20);
        assert_eq!(volume.behind(0), 50 << 20);
        volume.trimmed(80, volume.total());
        assert_eq!(volume.since_trim(), 0);
        assert_eq!(volume.place_before(10 << 20), 80);
        assert_eq!(volume.place_before(11 << 20), 0);
    }
}
