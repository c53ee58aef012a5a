//! One line: who changed which entry, how they came in, which rule let them, and the difference.

use crate::chain::{Hash, hex};
use crate::json::{Object, put_list, put_text};

/// Maximum length of a value that is written; of a longer one, length and hash are.
pub const VALUE_BYTES_MAX: usize = 1_024;

/// A change of one entry, or of the audit itself.
#[derive(Debug, Clone)]
pub struct Line<'l> {
    /// Position of the record in the order of changes.
    pub position: u64,
    /// Time of the record, as GeneralizedTime with microseconds.
    pub time: &'l str,
    /// The kind of change.
    pub operation: Operation<'l>,
    /// DN of the entry before the change, as spelled; empty if the change is about none.
    pub entry: &'l str,
    /// entryUUID of the entry; empty if it has none.
    pub uuid: &'l str,
    /// Whether the change follows from the one of the line before, which names another entry.
    pub is_consequence: bool,
    /// DN of the subject that the change was made as; empty for nobody.
    pub by: &'l str,
    /// Where the change came from; `None` for one of the server itself, and for one that waited
    /// while the audit began.
    pub author: Option<&'l Author>,
    /// The attributes that differ afterwards.
    pub changes: &'l [Change],
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'l> {
    /// The audit began, on a state with this digest.
    Begin(u128),
    /// The audit ended: changes behind this line have none.
    End,
    /// The entry is new.
    Add,
    /// Values of the entry changed.
    Modify,
    /// The entry got this DN.
    Rename(&'l str),
    /// The entry was deleted.
    Delete,
    /// The entry was deleted with all entries below it. Their own lines follow when they are
    /// cleared away.
    DeleteSubtree,
    /// An entry of a deleted subtree was cleared away.
    Clear,
    /// The format level was raised.
    Level(u32),
}

impl Operation<'_> {
    fn text(&self) -> &'static str {
        match self {
            Operation::Begin(_) => "begin",
            Operation::End => "end",
            Operation::Add => "add",
            Operation::Modify => "modify",
            Operation::Rename(_) => "rename",
            Operation::Delete => "delete",
            Operation::DeleteSubtree => "delete-subtree",
            Operation::Clear => "clear",
            Operation::Level(_) => "level",
        }
    }
}

/// How the client of a change came in, and why it was allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// entryUUID of the subject's entry; empty if it has none.
    pub uuid: String,
    /// DN of the subject that authenticated, where it acts as another; else empty.
    pub real: String,
    /// entryUUID of that subject; empty if it has none.
    pub real_uuid: String,
    /// Address of the client; empty at a Unix socket.
    pub from: String,
    /// Protection of the connection: `local`, `tls`, `cleartext`.
    pub transport: String,
    /// Method of authentication.
    pub authentication: String,
    /// Name of the access rule that allowed the change.
    pub rule: String,
}

impl Author {
    /// The texts, in the order in which records have them.
    pub fn texts(&self) -> [&str; 7] {
        [
            &self.uuid,
            &self.real,
            &self.real_uuid,
            &self.from,
            &self.transport,
            &self.authentication,
            &self.rule,
        ]
    }

    /// The author of these texts.
    pub fn of_texts(texts: [String; 7]) -> Author {
        let [uuid, real, real_uuid, from, transport, authentication, rule] = texts;
        Author {
            uuid,
            real,
            real_uuid,
            from,
            transport,
            authentication,
            rule,
        }
    }
}

/// The difference of one attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The attribute description.
    pub attribute: String,
    /// Whether the values are secret: then only their numbers are written.
    pub is_secret: bool,
    /// Values that the entry had and has no more.
    pub deleted: Values,
    /// Values that the entry has and had not.
    pub added: Values,
}

/// Values of one attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    /// The values to be written, in the order in which they are stored.
    pub shown: Vec<Vec<u8>>,
    /// Number of further values, which are too many to be written.
    pub more: u64,
}

impl Values {
    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.more == 0
    }

    fn count(&self) -> u64 {
        self.shown.len() as u64 + self.more
    }
}

impl Line<'_> {
    /// Writes the line, without its end.
    pub(crate) fn write(&self, number: u64, previous: &Hash, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        put_place(&mut object, number, previous, self.position, self.time);
        object.text("operation", self.operation.text());
        match self.operation {
            Operation::Begin(digest) => object.text("digest", &format!("{digest:032x}")),
            Operation::Level(level) => object.number("to", u64::from(level)),
            _ => {}
        }
        if self.is_consequence {
            object.mark("consequence");
        }
        put_some(&mut object, "entry", self.entry);
        put_some(&mut object, "uuid", self.uuid);
        if let Operation::Rename(to) = self.operation {
            object.text("to", to);
        }
        self.put_author(&mut object);
        if !self.changes.is_empty() {
            put_list(object.key("changes"), self.changes, put_change);
        }
        object.end();
    }

    fn put_author(&self, object: &mut Object<'_>) {
        let Some(author) = self.author else {
            if !self.by.is_empty() {
                object.object("by", |by| by.text("dn", self.by));
            }
            return;
        };
        object.object("by", |by| {
            put_some(by, "dn", self.by);
            put_some(by, "uuid", &author.uuid);
        });
        if !author.real.is_empty() {
            object.object("real", |real| {
                real.text("dn", &author.real);
                put_some(real, "uuid", &author.real_uuid);
            });
        }
        put_some(object, "from", &author.from);
        object.text("transport", &author.transport);
        object.text("authentication", &author.authentication);
        object.text("rule", &author.rule);
    }
}

/// Writes where a line stands: its number, with the hash of the line before it, the position of the
/// record, and the time.
pub(crate) fn put_place(
    object: &mut Object<'_>,
    number: u64,
    previous: &Hash,
    position: u64,
    time: &str,
) {
    object.number("line", number);
    object.text("previous", &hex(previous));
    object.number("position", position);
    object.text("time", time);
}

/// Writes a key with a text, unless the text is empty.
pub(crate) fn put_some(object: &mut Object<'_>, key: &str, text: &str) {
    if !text.is_empty() {
        object.text(key, text);
    }
}

fn put_change(out: &mut Vec<u8>, change: &Change) {
    let mut object = Object::begin(out);
    object.text("attribute", &change.attribute);
    if change.is_secret {
        object.mark("secret");
        object.number("deleted", change.deleted.count());
        object.number("added", change.added.count());
    } else {
        put_values(&mut object, ["deleted", "more_deleted"], &change.deleted);
        put_values(&mut object, ["added", "more_added"], &change.added);
    }
    object.end();
}

fn put_values(object: &mut Object<'_>, [key, more]: [&str; 2], values: &Values) {
    if !values.shown.is_empty() {
        put_list(object.key(key), &values.shown, |out, it| put_value(out, it));
    }
    if values.more > 0 {
        object.number(more, values.more);
    }
}

/// Writes a value: a text as it is, other bytes in base 64, and of many bytes length and hash.
fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    if value.len() > VALUE_BYTES_MAX {
        let mut object = Object::begin(out);
        object.number("bytes", value.len() as u64);
        object.text("blake3", &hex(&crate::chain::hash_of(value)));
        object.end();
        return;
    }
    let text = std::str::from_utf8(value);
    match text.ok().filter(|it| !it.contains(char::is_control)) {
        Some(text) => put_text(out, text),
        None => {
            let mut encoded = Vec::new();
            protocol::base64::encode_into(&mut encoded, value);
            let mut object = Object::begin(out);
            object.text("base64", &String::from_utf8_lossy(&encoded));
            object.end();
        }
    }
}
