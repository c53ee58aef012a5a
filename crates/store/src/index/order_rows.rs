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
    /// What the index keeps of the value, see [`order_form`]. Forms compare like the values as far
    /// as they are kept.
    pub form: &'a [u8],
    /// Who has it.
    pub id: EntryId,
}

impl OrderRow<'_> {
    /// Whether the form is all of the value: another value has another form.
    pub fn is_whole(&self) -> bool {
        is_whole(self.form)
    }
}

/// Appends what an ordering index keeps of a value, given in its ordering form.
pub fn order_form(normal: &[u8], out: &mut Vec<u8>) {
    put_form(out, normal);
}

/// Where a walk begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStart<'s> {
    /// At the end it comes to first.
    End,
    /// Behind this row, in the direction of the walk.
    Behind(&'s [u8], EntryId),
    /// At the row of this form that it comes to first.
    At(&'s [u8]),
}

/// See [`Snapshot::order_rows`].
pub struct OrderRows<'a> {
    cursor: Cursor<'a>,
    prefix: [u8; ATTRIBUTE_BYTES],
    backwards: bool,
    /// What the first step seeks; `None` once it has.
    start: Option<Start>,
}

struct Start {
    bound: Vec<u8>,
    /// The bound itself is among the rows.
    inclusive: bool,
}

impl<'a> Snapshot<'a> {
    /// The rows of an ordering index from somewhere on.
    ///
    /// # Errors
    /// What LMDB says. Each item: the same, and [`Error::Corrupt`] for a row that cannot be read.
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
