//! Collects entries made by the thread that imports them.

use super::source::EntrySink;
use super::work::{Kind, Rejected};
use super::worker::{Read, Refused, Worker};
use std::borrow::Cow;

/// Collects a made entry until it is complete.
pub(super) struct Sink<'w, 's> {
    worker: &'w mut Worker<'s>,
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
    pub fn new(worker: &'w mut Worker<'s>, first: u64) -> Sink<'w, 's> {
        Sink {
            worker,
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
        match self.worker.entry(&read, Kind::Imported) {
            Ok(()) => Ok(()),
            Err(Refused::Entry(reason)) => {
                let text = super::rejects::ldif(dn, &values);
                self.worker.rejected.push(Rejected {
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
