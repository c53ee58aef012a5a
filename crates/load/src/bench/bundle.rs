//! Adds the queue length control to requests: a client that waits for several responses together
//! announces so with the first request.

use protocol::control::QueueLength;
use protocol::{OwnedControl, ber, oid};

/// Tag of `controls [0]` of a message.
const CONTROLS: u8 = 0xa0;

/// Announces a number of responses with the first request of each bundle.
#[derive(Debug, Clone)]
pub(crate) struct Announcement {
    responses: u32,
    /// The encoded controls of a message.
    controls: Vec<u8>,
}

impl Announcement {
    /// Returns a bundler; `None` if responses are not awaited together.
    pub fn new(responses: u32) -> Option<Announcement> {
        let length = QueueLength {
            responses,
            delay_us_max: None,
        };
        let control = OwnedControl::with_value(oid::QUEUE_LENGTH, false, |out| length.encode(out));
        let mut controls = Vec::new();
        ber::put_nested(&mut controls, CONTROLS, |out| {
            ber::put_nested(out, ber::SEQUENCE, |out| {
                ber::put_octets(out, ber::OCTET_STRING, control.oid.as_bytes());
                if let Some(value) = &control.value {
                    ber::put_octets(out, ber::OCTET_STRING, value);
                }
            });
        });
        (responses > 1).then_some(Announcement {
            responses,
            controls,
        })
    }

    /// Adds the control to the request in `out` from `start` on, if it begins a bundle; `left`
    /// counts the requests of the bundle.
    pub fn note(&self, left: &mut u32, out: &mut Vec<u8>, start: usize) {
        if *left == 0 {
            *left = self.responses;
            self.put(out, start);
        }
        *left -= 1;
    }

    /// Adds the control to one message.
    fn put(&self, out: &mut Vec<u8>, start: usize) {
        let message = out.split_off(start);
        let content = ber::Reader::new(&message).expect(ber::SEQUENCE);
        let Ok(content) = content else {
            // Bytes that are no message are sent unchanged.
            out.extend_from_slice(&message);
            return;
        };
        ber::put_header(out, ber::SEQUENCE, content.len() + self.controls.len());
        out.extend_from_slice(content);
        out.extend_from_slice(&self.controls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{DecodeLimits, DeleteRequest, Message, Request, frame, write_request};

    #[test]
    fn every_first_request_announces_the_others() {
        assert!(Announcement::new(0).is_none() && Announcement::new(1).is_none());
        let announcement = Announcement::new(3).unwrap();
        let (mut out, mut left) = (Vec::new(), 0);
        let request = Request::Delete(DeleteRequest { entry: "cn=a" });
        for id in 1..=7 {
            let start = out.len();
            write_request(&mut out, id, &request, &[]);
            announcement.note(&mut left, &mut out, start);
        }
        let (mut rest, mut announced) = (&out[..], Vec::new());
        while let Some(length) = frame(rest, 1 << 20).unwrap() {
            let message = Message::decode(&rest[..length], &DecodeLimits::default()).unwrap();
            assert_eq!(message.request, request);
            for control in message.controls.iter() {
                let value = QueueLength::decode(control.value.unwrap()).unwrap();
                assert_eq!((control.oid, value.responses), (oid::QUEUE_LENGTH, 3));
                announced.push(message.id);
            }
            rest = &rest[length..];
        }
        assert_eq!(announced, [1, 4, 7]);
    }
}
