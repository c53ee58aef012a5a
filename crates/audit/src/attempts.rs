//! Lines about attempts without success: failed binds and refused operations that are alike,
//! counted together.
//!
//! They are no changes, so they have a chain of their own on each node.

use crate::chain::{Hash, hex};
use crate::json::Object;
use crate::line::{put_place, put_some};

/// Attempts that are alike, of one interval.
#[derive(Debug, Clone)]
pub struct Attempts<'l> {
    /// Position of the last change that the node had executed when the line was made.
    pub position: u64,
    /// Time of the line, as GeneralizedTime with microseconds.
    pub time: &'l str,
    /// The kind of the attempts.
    pub kind: AttemptKind<'l>,
    /// Address of the client, or the network of IPv6 that it belongs to; empty at a Unix socket.
    pub from: &'l str,
    /// Name of the result code.
    pub result: &'l str,
    /// Number of the attempts.
    pub count: u64,
    /// Time of the first attempt, as GeneralizedTime with microseconds.
    pub first: &'l str,
    /// Time of the last attempt.
    pub last: &'l str,
}

/// An entry in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntryName<'l> {
    /// The DN; empty if there is none.
    pub dn: &'l str,
    /// The entryUUID; empty if there is no such entry.
    pub uuid: &'l str,
}

/// The kind of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind<'l> {
    /// Binds that failed.
    Bind {
        /// The account that was named, if there is one.
        account: EntryName<'l>,
        /// Keyed hash of the name that was given, if no account has it: it may be a password.
        name_hash: Option<[u8; 16]>,
        /// Authentication method or SASL mechanism.
        mechanism: &'l str,
    },
    /// Operations that access rules refused.
    Denied {
        /// The subject that the operations were tried as.
        by: EntryName<'l>,
        /// The subject that authenticated, where that is somebody else.
        real: EntryName<'l>,
        /// Name of the rule that refused them; empty if the refusal names none.
        rule: &'l str,
        /// Number of the clause in the rule, from 1; empty if no clause decided.
        clause: &'l str,
        /// The operation.
        request: &'l str,
        /// The entry of the operations.
        entry: EntryName<'l>,
    },
    /// Further attempts of the interval, which were too many kinds to tell apart.
    Others,
}

impl Attempts<'_> {
    /// Writes the line, without its end.
    pub(crate) fn write(&self, number: u64, previous: &Hash, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        put_place(&mut object, number, previous, self.position, self.time);
        match &self.kind {
            AttemptKind::Bind {
                account,
                name_hash,
                mechanism,
            } => {
                object.text("operation", "failed-bind");
                put_some(&mut object, "entry", account.dn);
                put_some(&mut object, "uuid", account.uuid);
                if let Some(hash) = name_hash {
                    object.text("name_hash", &hex(hash));
                }
                put_some(&mut object, "mechanism", mechanism);
            }
            AttemptKind::Denied {
                by,
                real,
                rule,
                clause,
                request,
                entry,
            } => {
                object.text("operation", "denied");
                object.text("request", request);
                put_some(&mut object, "entry", entry.dn);
                put_some(&mut object, "uuid", entry.uuid);
                put_entry(&mut object, "by", by);
                put_entry(&mut object, "real", real);
                put_some(&mut object, "rule", rule);
                put_some(&mut object, "clause", clause);
            }
            AttemptKind::Others => object.text("operation", "others"),
        }
        put_some(&mut object, "from", self.from);
        put_some(&mut object, "result", self.result);
        object.number("count", self.count);
        object.text("first", self.first);
        object.text("last", self.last);
        object.end();
    }
}

fn put_entry(object: &mut Object<'_>, key: &str, entry: &EntryName<'_>) {
    if !entry.dn.is_empty() {
        object.object(key, |it| {
            it.text("dn", entry.dn);
            put_some(it, "uuid", entry.uuid);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Head, Verifier, Written};

    fn attempts(kind: AttemptKind<'_>) -> Attempts<'_> {
        Attempts {
            position: 7,
            time: "20261126000100.000000Z",
            kind,
            from: "2001:db8::/64",
            result: "invalidCredentials",
            count: 3,
            first: "20261126000000.000000Z",
            last: "20261126000059.000000Z",
        }
    }

    #[test]
    fn lines_are_a_chain_and_leave_out_what_is_missing() {
        let account = EntryName {
            dn: "uid=ada,dc=x",
            uuid: "e1",
        };
        let kinds = [
            AttemptKind::Bind {
                account,
                name_hash: None,
                mechanism: "simple",
            },
            AttemptKind::Bind {
                account: EntryName::default(),
                name_hash: Some([0xab; 16]),
                mechanism: "PLAIN",
            },
            AttemptKind::Denied {
                by: account,
                real: EntryName::default(),
                rule: "staff",
                clause: "2",
                request: "modify",
                entry: account,
            },
            AttemptKind::Others,
        ];
        let (mut head, mut out) = (Head::default(), Vec::new());
        head.opening().write(&mut out);
        for kind in kinds {
            head.append_attempts(&attempts(kind), &mut out);
        }
        let text = String::from_utf8(out).expect("text");
        let mut verifier = Verifier::default();
        for line in text.lines() {
            verifier.take(line.as_bytes()).expect("as written");
        }
        assert_eq!(verifier.head().expect("lines").line, 4);
        let lines: Vec<&str> = text.lines().collect();
        for (at, parts) in [
            (
                1,
                r#""operation":"failed-bind","entry":"uid=ada,dc=x","uuid":"e1","mechanism":"simple","from":"2001:db8::/64","result":"invalidCredentials","count":3,"#,
            ),
            (
                2,
                r#""operation":"failed-bind","name_hash":"abababababababababababababababab","mechanism":"PLAIN","#,
            ),
            (
                3,
                r#""request":"modify","entry":"uid=ada,dc=x","uuid":"e1","by":{"dn":"uid=ada,dc=x","uuid":"e1"},"rule":"staff","clause":"2","#,
            ),
            (4, r#""operation":"others","from":"#),
        ] {
            assert!(lines[at].contains(parts), "{}", lines[at]);
        }
        assert!(matches!(
            Written::read(lines[1].as_bytes()),
            Ok(Written::Line(line)) if line.text("entry") == "uid=ada,dc=x"
        ));
    }
}
