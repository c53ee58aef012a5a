//! A golden log as a text.
//!
//! ```text
//! database BASE64         the database before the first record, compressed by zstd
//! record PLACE NODE EPOCH SEQUENCE BASE64
//! end POSITION DIGEST EQUALITY LEVEL
//! content                 and every entry, as lines, up to the end
//! ```

use crate::commit_log::{LogRecord, NodeId, Origin};
use protocol::base64;

/// Number of bytes that a database may have.
const DATABASE_BYTES_MAX: usize = 16 << 20;

/// A log with the states before and after it.
pub(super) struct Golden {
    /// The database file.
    pub database: Vec<u8>,
    pub records: Vec<LogRecord>,
    pub end: End,
}

/// The state after the last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// Position, digest of the state, digest for comparing nodes, and level.
    pub state: String,
    pub level: u32,
    /// Every entry.
    pub content: String,
}

impl Golden {
    pub fn to_text(&self) -> String {
        let database = zstd::bulk::compress(&self.database, 19).expect("compressed");
        let mut text = format!("database {}\n", encoded(&database));
        for LogRecord {
            place,
            origin,
            payload,
            ..
        } in &self.records
        {
            let Origin {
                node,
                epoch,
                sequence,
                ..
            } = origin;
            let node = node.0[0];
            let payload = encoded(payload);
            text.push_str(&format!(
                "record {place} {node} {epoch} {sequence} {payload}\n"
            ));
        }
        let End { state, content, .. } = &self.end;
        text + &format!("end {state}\ncontent\n{content}")
    }

    pub fn of_text(text: &str) -> Golden {
        let (log, content) = text.split_once("\ncontent\n").expect("content");
        let mut database = None;
        let (mut records, mut end) = (Vec::new(), None);
        for line in log.lines() {
            let (kind, rest) = line.split_once(' ').expect("a kind of line");
            match kind {
                "database" => {
                    let bytes = zstd::bulk::decompress(&decoded(rest), DATABASE_BYTES_MAX);
                    database = Some(bytes.expect("a database"));
                }
                "record" => records.push(record(rest)),
                "end" => end = Some(rest.to_owned()),
                other => panic!("a golden log has no line {other:?}"),
            }
        }
        let state = end.expect("an end");
        let level = state.rsplit(' ').next().map(str::parse);
        Golden {
            database: database.expect("a database"),
            records,
            end: End {
                level: level.expect("a level").expect("a number"),
                state,
                content: content.to_owned(),
            },
        }
    }
}

fn record(line: &str) -> LogRecord {
    let mut words = line.split(' ');
    let mut number = || -> u64 { words.next().expect("a number").parse().expect("digits") };
    let (place, node, epoch, sequence) = (number(), number(), number(), number());
    LogRecord {
        place,
        origin: Origin {
            node: NodeId([node as u8; 16]),
            epoch,
            lane: 0,
            sequence,
        },
        own: None,
        payload: decoded(words.next().expect("a payload")),
    }
}

fn encoded(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    base64::encode_into(&mut text, bytes);
    String::from_utf8(text).expect("base64 is text")
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    base64::decode_into(&mut bytes, text.as_bytes()).expect("base64");
    bytes
}
