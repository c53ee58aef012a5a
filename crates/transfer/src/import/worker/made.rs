//! Entries that a generator makes while the worker waits for them.

use super::prospects::Prospects;
use crate::import::rejects;
use crate::import::source::EntrySink;
use crate::import::work::{Kind, Read, Refused, Rejected};
use std::borrow::Cow;

/// Collects a made entry until it is complete, and makes a prospect of it.
pub(super) struct Sink<'w, 's> {
    prospects: &'w mut Prospects<'s>,
    /// Names of all entries.
    pub names: Vec<u8>,
    start: usize,
    line: u64,
    bytes: Vec<u8>,
    /// Ends of description and value of each value in `bytes`.
    ends: Vec<(usize, usize)>,
    /// Whether no more entries are wanted.
    pub stopped: bool,
}

impl<'w, 's> Sink<'w, 's> {
    pub fn new(prospects: &'w mut Prospects<'s>, first: u64) -> Sink<'w, 's> {
        Sink {
            prospects,
            names: Vec::new(),
            start: 0,
            line: first,
            bytes: Vec::new(),
            ends: Vec::new(),
            stopped: false,
        }
    }
}

impl EntrySink for Sink<'_, '_> {
    fn begin(&mut self, dn: &str) {
        self.start = self.names.len();
        self.names.extend_from_slice(dn.as_bytes());
        self.bytes.clear();
        self.ends.clear();
    }

    fn value(&mut self, description: &str, value: &[u8]) {
        self.bytes.extend_from_slice(description.as_bytes());
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((middle, self.bytes.len()));
    }

    fn end(&mut self) -> Result<(), String> {
        let mut values = Vec::with_capacity(self.ends.len());
        let mut start = 0;
        for (middle, end) in &self.ends {
            // The description was given as text.
            let text = std::str::from_utf8(&self.bytes[start..*middle]).unwrap_or_default();
            values.push((text, Cow::Borrowed(&self.bytes[*middle..*end])));
            start = *end;
        }
        let dn = std::str::from_utf8(&self.names[self.start..]).unwrap_or_default();
        let place = self.start..self.names.len();
        let read = Read {
            dn,
            values: &values,
            place,
            line: self.line,
        };
        let line = self.line;
        self.line += 1;
        match self.prospects.entry(&read, Kind::Imported) {
            Ok(()) => Ok(()),
            Err(Refused::Entry(reason)) => {
                let text = rejects::ldif(dn, &values);
                self.prospects.reject(Rejected {
                    line,
                    at: 0,
                    reason,
                    text,
                });
                Ok(())
            }
            Err(Refused::Stopped) => {
                self.stopped = true;
                Err("no more entries are wanted".to_owned())
            }
        }
    }
}
