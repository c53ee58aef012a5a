//! Walking an ordering index row by row, forwards or backwards, from any row.

use schema::AttributeNumber;

use crate::error::Error;
use crate::id::{EntryId, ID_BYTES};
use crate::index::order::{ATTRIBUTE_BYTES, attribute_prefix, is_whole, put_form};
use crate::lmdb::Cursor;
use crate::snapshot::Snapshot;

/// One row of an ordering index: an entry has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderRow<'a> {
    /// The part of the value that the index keeps, see [`order_form`]. Forms compare like the
    /// values as far as they are kept.
    pub form: &'a [u8],
    /// Id of the entry that has the value.
    pub id: EntryId,
}

impl OrderRow<'_> {
    /// Returns whether the form is the whole value, so that another value has another form.
    pub fn is_whole(&self) -> bool {
        is_whole(self.form)
    }
}

/// Appends the part of a value, given in its ordering form, that an ordering index keeps.
pub fn order_form(normal: &[u8], out: &mut Vec<u8>) {
    put_form(out, normal);
}

/// The start of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStart<'s> {
    /// The first row in the direction of the walk.
    End,
    /// The row behind this one, in the direction of the walk.
    Behind(&'s [u8], EntryId),
    /// The first row with this form, in the direction of the walk.
    At(&'s [u8]),
}

/// The iterator of [`Snapshot::order_rows`].
pub struct OrderRows<'a> {
    cursor: Cursor<'a>,
    prefix: [u8; ATTRIBUTE_BYTES],
    backwards: bool,
    /// The start to seek at the first step; `None` afterwards.
    start: Option<Start>,
}

struct Start {
    bound: Vec<u8>,
    /// Whether the bound itself is among the rows.
    inclusive: bool,
}

impl<'a> Snapshot<'a> {
    /// Iterates over the rows of an ordering index from a start on.
    ///
    /// # Errors
    /// Errors of LMDB. Each item: an error of LMDB, or [`Error::Corrupt`] for a row that cannot be
    /// read.
    pub fn order_rows(
        &self,
        base: AttributeNumber,
        start: OrderStart<'_>,
        backwards: bool,
    ) -> Result<OrderRows<'a>, Error> {
        let prefix = attribute_prefix(base);
        let first = [0; ID_BYTES];
        let last = [0xff; ID_BYTES];
        let mut bound = prefix.to_vec();
        let mut inclusive = true;
        match start {
            OrderStart::End if backwards => (bound, inclusive) = (past(&prefix), false),
            OrderStart::End => {}
            OrderStart::At(form) => {
                bound.extend_from_slice(form);
                bound.extend_from_slice(if backwards { &last } else { &first });
            }
            OrderStart::Behind(form, id) => {
                bound.extend_from_slice(form);
                bound.extend_from_slice(&id.packed());
                inclusive = false;
            }
        }
        Ok(OrderRows {
            cursor: self.transaction.cursor(self.tables.order)?,
            prefix,
            backwards,
            start: Some(Start { bound, inclusive }),
        })
    }
}

/// The first key behind all keys with this prefix.
fn past(prefix: &[u8; ATTRIBUTE_BYTES]) -> Vec<u8> {
    let mut key = prefix.to_vec();
    while let Some(last) = key.pop() {
        if last < 0xff {
            key.push(last + 1);
            break;
        }
    }
    key
}

impl<'a> OrderRows<'a> {
    fn step(&mut self) -> Result<Option<OrderRow<'a>>, Error> {
        let row = match (self.start.take(), self.backwards) {
            (None, false) => self.cursor.next()?,
            (None, true) => self.cursor.previous()?,
            (Some(start), false) => match self.cursor.seek(&start.bound)? {
                Some((key, _)) if !start.inclusive && key == start.bound => self.cursor.next()?,
                row => row,
            },
            (Some(start), true) => match self.cursor.seek(&start.bound)? {
                Some((key, value)) if start.inclusive && key == start.bound => Some((key, value)),
                Some(_) => self.cursor.previous()?,
                None => self.cursor.last()?,
            },
        };
        let Some(rest) = row.and_then(|(key, _)| key.strip_prefix(&self.prefix)) else {
            return Ok(None);
        };
        let cut = rest.len().checked_sub(ID_BYTES);
        let parts = cut.map(|at| rest.split_at(at));
        let read = parts.and_then(|(form, id)| Some((form, EntryId::unpack(id)?)));
        let (form, id) = read.ok_or_else(|| Error::corrupt("order", "a key is too short"))?;
        Ok(Some(OrderRow { form, id }))
    }
}

impl<'a> Iterator for OrderRows<'a> {
    type Item = Result<OrderRow<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
