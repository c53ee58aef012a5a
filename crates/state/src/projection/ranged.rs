//! Ranges of values: `member;range=0-1499` (draft-kashi-incremental, as in Active Directory).
//!
//! The response names the range it contains, `member;range=1500-*` if that reaches the end. Members
//! are ordered by id.

use super::{Projection, Ranges};
use crate::catalog::Catalog;
use crate::stop::Stop;
use crate::view::VisibleEntry;
use protocol::ber;
use schema::{AttributeNumber, ValueRange};

/// Maximum number of values in one response.
const VALUES_MAX: u64 = 5_000;

/// Values of one range.
struct Part {
    values: Vec<Vec<u8>>,
    /// Number of values counted, and whether they reach the end.
    places: u64,
    to_end: bool,
}

impl Projection {
    /// Appends the selected ranges.
    pub(super) fn write_ranged(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        ranges: &Ranges,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        for (number, range) in &ranges.of {
            let Some(known) = catalog.schema.known(*number) else {
                continue;
            };
            let Some(part) = part(entry, *number, *range)? else {
                continue;
            };
            let answered = ValueRange {
                low: range.low,
                high: (!part.to_end).then_some(range.low + part.places - 1),
            };
            let text = format!("{};{answered}", known.text);
            let values = if self.types_only {
                &[][..]
            } else {
                &part.values
            };
            ber::put_partial_attribute(out, &text, values.iter().map(Vec::as_slice));
        }
        Ok(())
    }
}

/// Returns the values of a range; `None` if there are none.
fn part(
    entry: &VisibleEntry<'_, '_>,
    number: AttributeNumber,
    range: ValueRange,
) -> Result<Option<Part>, Stop> {
    let asked = range
        .high
        .map_or(u64::MAX, |high| (high - range.low).saturating_add(1));
    let wanted = asked.min(VALUES_MAX);
    let mut part = Part {
        values: Vec::new(),
        places: 0,
        to_end: false,
    };
    let total = if let Some(set) = entry.linked_set(number)? {
        let mut value = Vec::new();
        for member in entry
            .members_from(set.set, range.low)?
            .take(wanted as usize)
        {
            part.places += 1;
            value.clear();
            if entry.write_member(set.set, member?, &mut value)? {
                part.values.push(value.clone());
            }
        }
        set.count
    } else {
        let Some(stored) = entry.attribute(number) else {
            return Ok(None);
        };
        let values = stored.values();
        let some = values.iter().skip(range.low as usize).take(wanted as usize);
        part.values.extend(some.map(<[u8]>::to_vec));
        part.places = part.values.len() as u64;
        values.iter().count() as u64
    };
    part.to_end = range.low + part.places >= total;
    Ok((part.places > 0).then_some(part))
}
