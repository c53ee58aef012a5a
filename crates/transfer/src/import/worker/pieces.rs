//! Works on pieces of input, entry by entry: LDIF, BER, and made entries.

use super::{Read, Refused, Worker};
use crate::import::rejects;
use crate::import::sink::Sink;
use crate::import::source::{Content, Piece, after_element, read_request};
use crate::import::work::{Kind, Rejected, Text};
use crate::line::Stopped;
use protocol::ldif::{LdifAttribute, LdifRecord, parse_record, split_records};
use state::stop::Failure;
use std::borrow::Cow;

/// Origin of a piece's entries, offset of the piece, and its text.
type GivenWork = (String, Option<u64>, Result<Text, Stopped>);

impl Worker<'_> {
    /// Makes prospects of the entries of a piece.
    pub(super) fn given(&mut self, piece: Piece) -> Result<GivenWork, Failure> {
        let origin = piece.origin;
        Ok(match piece.content {
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
                self.rejected.push(Rejected {
                    line: number,
                    at: 0,
                    reason: format!("{reason}; this input is not read any further"),
                    text: Vec::new(),
                });
                let text = Ok(Text::Names(Vec::new()));
                (format!("{origin}, request"), Some(offset), text)
            }
            Content::Made { make, first } => {
                let mut sink = Sink::new(self, first);
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
        })
    }

    fn ldif(&mut self, text: &[u8], first_line: u64) -> Result<(), Stopped> {
        // Taken out of `self` while records borrow from it.
        let mut scratch = std::mem::take(&mut self.scratch);
        for record in split_records(text, first_line) {
            let start = record.text.as_ptr().addr() - text.as_ptr().addr();
            let place = start..start + record.text.len();
            let (line, result) = match parse_record(record.text, record.line, &mut scratch) {
                Ok(
                    LdifRecord::Entry { dn, attributes } | LdifRecord::Add { dn, attributes, .. },
                ) => {
                    let read = Read {
                        dn,
                        values: &attributes,
                        place,
                        line: record.line,
                    };
                    (record.line, self.entry(&read, Kind::Imported))
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
                Err(Refused::Entry(reason)) => {
                    self.rejected.push(Rejected {
                        line,
                        at: start,
                        reason,
                        text: record.text.to_vec(),
                    });
                }
            }
        }
        self.scratch = scratch;
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
                    self.rejected.push(Rejected {
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
            match self.entry(&read, Kind::Imported) {
                Ok(()) => {}
                Err(Refused::Stopped) => return Err(Stopped),
                Err(Refused::Entry(reason)) => {
                    let text = rejects::ldif(request.entry, &values);
                    self.rejected.push(Rejected {
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

/// The attributes of a request as single values in order.
pub(in crate::import) fn values_of<'r>(
    request: &protocol::AddRequest<'r>,
) -> Vec<LdifAttribute<'r>> {
    let attributes = request.attributes.iter();
    attributes
        .flat_map(|it| {
            it.values
                .iter()
                .map(move |value| (it.description, Cow::Borrowed(value)))
        })
        .collect()
}
