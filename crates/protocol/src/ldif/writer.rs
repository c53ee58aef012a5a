//! Writes LDIF: base64 where required, folded lines where requested.

use super::change::LdifChange;
use super::record::{LdifControl, LdifRecord};
use crate::base64;
use crate::request::ChangeOperation;

/// Writes LDIF into a buffer. A writer has no state, so any number of threads can each fill a
/// buffer of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdifWriter {
    /// Longest line in columns; 0: lines are not folded.
    fold_columns: usize,
}

impl Default for LdifWriter {
    /// Folds at 76 columns, as RFC 2849 note 2 and other directories do.
    fn default() -> LdifWriter {
        LdifWriter::new(76)
    }
}

impl LdifWriter {
    /// A writer of lines of at most `fold_columns` (at least 2); 0 means any length.
    pub fn new(fold_columns: usize) -> LdifWriter {
        let fold_columns = if fold_columns == 0 {
            0
        } else {
            fold_columns.max(2)
        };
        LdifWriter { fold_columns }
    }

    /// `version: 1` and a blank line; once, before the first record.
    pub fn put_version(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"version: 1\n\n");
    }

    /// `# …`, each line of `text` as one comment. Not folded.
    pub fn put_comment(&self, out: &mut Vec<u8>, text: &str) {
        for line in text.lines() {
            out.extend_from_slice(b"# ");
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
    }

    /// The first line of a record.
    pub fn put_dn(&self, out: &mut Vec<u8>, dn: &str) {
        self.put_value(out, "dn", dn.as_bytes());
    }

    /// One value: as it is when RFC 2849 allows (`SAFE-STRING`), else as base64.
    pub fn put_value(&self, out: &mut Vec<u8>, attribute: &str, value: &[u8]) {
        let start = out.len();
        out.extend_from_slice(attribute.as_bytes());
        if is_safe(value) {
            out.extend_from_slice(if value.is_empty() { b":" } else { b": " });
            out.extend_from_slice(value);
        } else {
            out.extend_from_slice(b":: ");
            base64::encode_into(out, value);
        }
        self.end_line(out, start);
    }

    /// The blank line after a record.
    pub fn end_record(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }

    /// A whole record with the blank line after it.
    pub fn put_record(&self, out: &mut Vec<u8>, record: &LdifRecord<'_>) {
        self.put_dn(out, record.dn());
        match record {
            LdifRecord::Entry { attributes, .. } => {
                for (attribute, value) in attributes {
                    self.put_value(out, attribute, value);
                }
            }
            LdifRecord::Add {
                controls,
                attributes,
                ..
            } => {
                self.put_change_type(out, controls, "add");
                for (attribute, value) in attributes {
                    self.put_value(out, attribute, value);
                }
            }
            LdifRecord::Delete { controls, .. } => self.put_change_type(out, controls, "delete"),
            LdifRecord::Modify {
                controls, changes, ..
            } => {
                self.put_change_type(out, controls, "modify");
                for change in changes {
                    self.put_change(out, change);
                }
            }
            LdifRecord::ModifyDn {
                controls,
                new_rdn,
                delete_old_rdn,
                new_superior,
                ..
            } => {
                self.put_change_type(out, controls, "modrdn");
                self.put_value(out, "newrdn", new_rdn.as_bytes());
                self.put_value(
                    out,
                    "deleteoldrdn",
                    if *delete_old_rdn { b"1" } else { b"0" },
                );
                if let Some(superior) = new_superior {
                    self.put_value(out, "newsuperior", superior.as_bytes());
                }
            }
        }
        self.end_record(out);
    }

    /// One modification with the `-` after it.
    pub fn put_change(&self, out: &mut Vec<u8>, change: &LdifChange<'_>) {
        let operation = match change.operation {
            ChangeOperation::Add => "add",
            ChangeOperation::Delete => "delete",
            ChangeOperation::Replace => "replace",
            ChangeOperation::Increment => "increment",
        };
        self.put_value(out, operation, change.attribute.as_bytes());
        for value in &change.values {
            self.put_value(out, change.attribute, value);
        }
        out.extend_from_slice(b"-\n");
    }

    fn put_change_type(&self, out: &mut Vec<u8>, controls: &[LdifControl<'_>], kind: &str) {
        for control in controls {
            let start = out.len();
            out.extend_from_slice(b"control: ");
            out.extend_from_slice(control.oid.as_bytes());
            out.extend_from_slice(if control.critical {
                b" true"
            } else {
                b" false"
            });
            match control.value.as_deref() {
                None => {}
                Some(value) if is_safe(value) => {
                    out.extend_from_slice(b": ");
                    out.extend_from_slice(value);
                }
                Some(value) => {
                    out.extend_from_slice(b":: ");
                    base64::encode_into(out, value);
                }
            }
            self.end_line(out, start);
        }
        self.put_value(out, "changetype", kind.as_bytes());
    }

    /// Folds the line that starts at `start` and ends it.
    fn end_line(&self, out: &mut Vec<u8>, start: usize) {
        let columns = self.fold_columns;
        let length = out.len() - start;
        if columns == 0 || length <= columns {
            out.push(b'\n');
            return;
        }
        // Every further line starts with a space and so carries one column less. Moved into place
        // from the back, so that nothing is overwritten before it has moved, and no copy is made.
        let folds = (length - columns).div_ceil(columns - 1);
        let mut from = out.len();
        out.resize(from + 2 * folds + 1, b'\n');
        let mut to = out.len() - 1;
        for fold in (0..folds).rev() {
            let part = start + columns + fold * (columns - 1);
            let length = from - part;
            out.copy_within(part..from, to - length);
            to -= length + 2;
            if let Some(mark) = out.get_mut(to..to + 2) {
                mark.copy_from_slice(b"\n ");
            }
            from = part;
        }
    }
}

/// RFC 2849 `SAFE-STRING`, without the trailing space of note 8.
fn is_safe(value: &[u8]) -> bool {
    if matches!(value, [b' ' | b':' | b'<', ..] | [.., b' ']) {
        return false;
    }
    // Whole blocks without an early exit are compared 16 bytes at once; binary values mostly end
    // the search in the first one.
    let unsafe_byte = |byte: &u8| *byte >= 0x80 || matches!(*byte, 0 | b'\n' | b'\r');
    value.chunks(64).all(|block| {
        !block
            .iter()
            .fold(false, |found, byte| found | unsafe_byte(byte))
    })
}
