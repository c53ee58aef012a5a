//! One thread of an import: reads tasks entry by entry and makes prospects of the entries.

mod made;
mod prospects;

use self::made::Sink;
use self::prospects::Prospects;
use super::import_state::ImportState;
use super::rejects;
use super::source::{Content, Piece, after_element, read_request, values_of};
use super::urls;
use super::work::{Kind, Origin, Read, Refused, Rejected, Task, Text, Work};
use crate::line::Stopped;
use protocol::ldif::{LdifRecord, LdifScratch, parse_record, split_records};
use state::stop::Failure;
use store::Reader;

/// Reads tasks on one thread, with its caches.
pub(super) struct TaskReader<'s> {
    prospects: Prospects<'s>,
    scratch: LdifScratch,
}

impl<'s> TaskReader<'s> {
    /// A task reader with a reader of the old database.
    pub fn new(shared: &'s ImportState<'s>, reader: Reader) -> TaskReader<'s> {
        TaskReader {
            prospects: Prospects::new(shared, reader),
            scratch: match shared.plan.options.file_urls {
                true => LdifScratch::with_urls(Box::new(urls::read)),
                false => LdifScratch::with_urls(Box::new(urls::refuse)),
            },
        }
    }

    /// Works on a task. Returns the result, and the rest of the task if it is too large for one
    /// result; `None` if the import was stopped.
    pub fn work(
        &mut self,
        number: u64,
        task: Task,
    ) -> Result<Option<(Work, Option<Task>)>, Failure> {
        self.prospects.begin(number);
        let mut broken = false;
        let mut rest = None;
        let done = match task {
            Task::Given(piece) => {
                broken = matches!(piece.content, Content::Broken { .. });
                self.given(piece)?
            }
            Task::Stored { from, to } => {
                let (names, next) = self.prospects.take_over(from, to)?;
                rest = next.map(|from| Task::Stored { from, to });
                let origin = Origin {
                    text: "the old database, entry".to_owned(),
                    offset: None,
                };
                Some((origin, Text::Names(names)))
            }
        };
        let Some((origin, text)) = done else {
            return Ok(None);
        };
        Ok(Some((self.prospects.take(origin, text, broken), rest)))
    }

    /// Makes prospects of the entries of a piece. Returns its origin and text; `None` if the import
    /// was stopped.
    fn given(&mut self, piece: Piece) -> Result<Option<(Origin, Text)>, Failure> {
        let origin = piece.origin;
        let (text, offset, done) = match piece.content {
            Content::Ldif(chunk) => {
                let done = self.ldif(&chunk.text, chunk.first_line);
                let text = done.map(|()| Text::Ldif(chunk.text));
                (format!("{origin}, line"), None, text)
            }
            Content::Ber {
                requests,
                first,
                offset,
                bare,
            } => {
                let done = self.ber(&requests, first, bare);
                let text = done.map(|()| Text::Ber { requests, bare });
                (format!("{origin}, request"), offset, text)
            }
            Content::Broken {
                number,
                offset,
                reason,
            } => {
                self.prospects.reject(Rejected {
                    line: number,
                    at: 0,
                    reason: format!("{reason}; this input is not read any further"),
                    text: Vec::new(),
                });
                let text = Ok(Text::Names(Vec::new()));
                (format!("{origin}, request"), Some(offset), text)
            }
            Content::Made { make, first } => {
                let mut sink = Sink::new(&mut self.prospects, first);
                let made = make(&mut sink);
                let Sink { names, stopped, .. } = sink;
                let done = match (stopped, made) {
                    (true, _) => Err(Stopped),
                    (false, Err(error)) => {
                        return Err(Failure::Input(format!("{origin}: {error}")));
                    }
                    (false, Ok(())) => Ok(Text::Names(names)),
                };
                (format!("{origin}, entry"), None, done)
            }
        };
        Ok(done.ok().map(|done| (Origin { text, offset }, done)))
    }

    fn ldif(&mut self, text: &[u8], first_line: u64) -> Result<(), Stopped> {
        let TaskReader { prospects, scratch } = self;
        for record in split_records(text, first_line) {
            let start = record.text.as_ptr().addr() - text.as_ptr().addr();
            let place = start..start + record.text.len();
            let (line, result) = match parse_record(record.text, record.line, scratch) {
                Ok(
                    LdifRecord::Entry { dn, attributes } | LdifRecord::Add { dn, attributes, .. },
                ) => {
                    let read = Read {
                        dn,
                        values: &attributes,
                        place,
                        line: record.line,
                    };
                    (record.line, prospects.entry(&read, Kind::Imported))
                }
                Ok(_) => {
                    let reason = "expected an entry, got a change; apply it with ldapmodify";
                    (record.line, Err(Refused::Entry(reason.to_owned())))
                }
                Err(error) => (error.line, Err(Refused::Entry(error.message))),
            };
            match result {
                Ok(()) => {}
                Err(Refused::Stopped) => return Err(Stopped),
                Err(Refused::Entry(reason)) => prospects.reject(Rejected {
                    line,
                    at: start,
                    reason,
                    text: record.text.to_vec(),
                }),
            }
        }
        Ok(())
    }

    fn ber(&mut self, requests: &[u8], first: u64, bare: bool) -> Result<(), Stopped> {
        let mut rest = requests;
        let mut line = first;
        while !rest.is_empty() {
            let start = requests.len() - rest.len();
            let (request, after) = match read_request(rest, bare) {
                Ok(read) => read,
                Err(reason) => {
                    // The source has found the ends of elements, so the next one can be decoded.
                    let after = after_element(rest);
                    self.prospects.reject(Rejected {
                        line,
                        at: start,
                        reason,
                        text: Vec::new(),
                    });
                    rest = after;
                    line += 1;
                    continue;
                }
            };
            rest = after;
            let values = values_of(&request);
            let place = start..requests.len() - rest.len();
            let read = Read {
                dn: request.entry,
                values: &values,
                place,
                line,
            };
            match self.prospects.entry(&read, Kind::Imported) {
                Ok(()) => {}
                Err(Refused::Stopped) => return Err(Stopped),
                Err(Refused::Entry(reason)) => {
                    let text = rejects::ldif(request.entry, &values);
                    self.prospects.reject(Rejected {
                        line,
                        at: start,
                        reason,
                        text,
                    });
                }
            }
            line += 1;
        }
        Ok(())
    }
}
