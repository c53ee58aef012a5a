//! Checks whether a response is the expected one.

use protocol::ber::{Reader, decode_integer};
use protocol::counted;
use protocol::response::tag;
use protocol::{ResponseMessage, ResultCode};

use super::JobKind;
use super::job::Jobs;
use super::member::Slot;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;

/// The fields of a response that the check reads.
pub(crate) struct Answer {
    pub id: i32,
    tag: u8,
    /// Result code; 0 if the response is no result.
    code: u16,
}

pub(crate) enum Verdict {
    /// Whether more responses follow for the request.
    More,
    /// Whether the search of an auth operation has found its entry.
    BindNow,
    /// The operation is complete; the text describes an unexpected result.
    Done(Option<String>),
}

impl Answer {
    /// Reads a response; `None` if the octets are no response.
    pub fn read(octets: &[u8]) -> Option<Answer> {
        let mut message = Reader::new(octets).nested(SEQUENCE).ok()?;
        let id = i32::try_from(decode_integer(message.expect(INTEGER).ok()?).ok()?).ok()?;
        let (tag, content) = message.element().ok()?;
        let code = match tag {
            tag::SEARCH_ENTRY | tag::SEARCH_REFERENCE | tag::INTERMEDIATE => 0,
            _ => {
                let code = Reader::new(content).expect(ENUMERATED).ok()?;
                u16::try_from(decode_integer(code).ok()?).ok()?
            }
        };
        Some(Answer { id, tag, code })
    }

    /// Returns the result code; 0 if the response is no result.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns the response as text for the report.
    pub fn described(&self, octets: &[u8]) -> String {
        let code = ResultCode(self.code);
        let message = ResponseMessage::decode(octets).ok();
        let result = message.as_ref().and_then(|it| it.response.result());
        match result {
            Some(result) if !result.diagnostic.is_empty() => {
                format!("{code}: {}", result.diagnostic)
            }
            _ => code.to_string(),
        }
    }

    pub fn judge(&self, octets: &[u8], jobs: &Jobs, kind: JobKind, slot: &mut Slot) -> Verdict {
        match self.tag {
            tag::SEARCH_ENTRY => {
                slot.entries += 1;
                if kind == JobKind::Auth || jobs.check_dn {
                    self.take_name(octets, kind, jobs.check_dn, slot);
                }
                Verdict::More
            }
            tag::SEARCH_REFERENCE | tag::INTERMEDIATE => Verdict::More,
            found if found != expected_tag(kind, slot.binding) => Verdict::Done(Some(format!(
                "{}: answered with tag {found:#04x}",
                kind.name()
            ))),
            _ => self.judge_result(octets, jobs, kind, slot),
        }
    }

    fn judge_result(&self, octets: &[u8], jobs: &Jobs, kind: JobKind, slot: &Slot) -> Verdict {
        let name = kind.name();
        let expected = match (kind, jobs.expect_compare) {
            (JobKind::Compare, Some(true)) => self.code == 6,
            (JobKind::Compare, Some(false)) => self.code == 5,
            (JobKind::Compare, None) => matches!(self.code, 5 | 6),
            _ => self.code == 0,
        };
        if !expected {
            return Verdict::Done(Some(format!("{name}: {}", self.described(octets))));
        }
        if slot.wrong_entry {
            return Verdict::Done(Some(format!("{name}: an entry of another name")));
        }
        match kind {
            JobKind::Auth if !slot.binding => match slot.entries {
                1 => Verdict::BindNow,
                entries => {
                    Verdict::Done(Some(format!("{name}: {} found", counted(entries, "entry"))))
                }
            },
            JobKind::Search if jobs.expect_entries.is_some_and(|it| it != slot.entries) => {
                Verdict::Done(Some(format!(
                    "{name}: {} found",
                    counted(slot.entries, "entry")
                )))
            }
            _ => Verdict::Done(None),
        }
    }

    /// Compares the entry's name with the requested one; an auth operation keeps it for the bind.
    fn take_name(&self, octets: &[u8], kind: JobKind, check: bool, slot: &mut Slot) {
        let message = Reader::new(octets).nested(SEQUENCE);
        let name = message.and_then(|mut message| {
            message.element()?;
            Reader::new(message.element()?.1).expect(OCTET_STRING)
        });
        let Ok(name) = name else {
            slot.wrong_entry = true;
            return;
        };
        if check && !same_name(name, &slot.dn) {
            slot.wrong_entry = true;
        }
        if kind == JobKind::Auth {
            slot.dn.clear();
            slot.dn.extend_from_slice(name);
        }
    }
}

fn expected_tag(kind: JobKind, binding: bool) -> u8 {
    match kind {
        JobKind::Auth if !binding => tag::SEARCH_DONE,
        JobKind::Search => tag::SEARCH_DONE,
        JobKind::Auth | JobKind::Bind => tag::BIND,
        JobKind::Compare => tag::COMPARE,
        JobKind::Modify | JobKind::AddValue | JobKind::DeleteValue => tag::MODIFY,
        JobKind::Add => tag::ADD,
        JobKind::Delete => tag::DELETE,
        JobKind::ModifyDn => tag::MODIFY_DN,
    }
}

/// Returns whether names are equal except for case and spaces after commas, which depend on the
/// server.
fn same_name(one: &[u8], two: &[u8]) -> bool {
    fn letters(name: &[u8]) -> impl Iterator<Item = u8> + '_ {
        let mut after_comma = false;
        name.iter().filter_map(move |&octet| {
            let skip = after_comma && octet == b' ';
            after_comma = octet == b',' || skip;
            (!skip).then_some(octet.to_ascii_lowercase())
        })
    }
    one.eq_ignore_ascii_case(two) || letters(one).eq(letters(two))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whoever_writes_them() {
        assert!(same_name(b"uid=a,dc=com", b"UID=a, DC=com"));
        assert!(!same_name(b"uid=a,dc=com", b"uid=b,dc=com"));
        assert!(!same_name(b"uid=a,dc=com", b"uid=a,dc=co"));
    }

    #[test]
    fn answers_are_read() {
        let octets = [0x30, 0x0c, 2, 1, 7, 0x65, 7, 0x0a, 1, 0, 4, 0, 4, 0];
        let answer = Answer::read(&octets).unwrap();
        assert_eq!((answer.id, answer.tag, answer.code), (7, 0x65, 0));
        assert!(Answer::read(&octets[..9]).is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_octets_make_the_reader_panic(octets in proptest::collection::vec(0u8.., 0..40)) {
            if let Some(answer) = Answer::read(&octets) {
                answer.described(&octets);
            }
        }
    }
}
