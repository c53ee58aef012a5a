//! Messages of etcd, passed on to this program's own messages.
//!
//! etcd writes to a file and not to a pipe, so that it outlives a killed Pando. Its messages come
//! at most [`REPEATS_MAX`] times a minute with the same text: a member that cannot reach another
//! says so several times a second.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

/// How often one text is passed on in a minute.
pub const REPEATS_MAX: u32 = 3;
const MINUTE: Duration = Duration::from_secs(60);
/// Texts that are counted in a minute; further ones are not passed on.
const TEXTS_MAX: usize = 256;
/// Bytes of the longest line; the rest of a longer one is lost.
const LINE_BYTES_MAX: usize = 65_536;

/// Reads a file of messages while it grows, also when another one takes its place.
pub struct Output {
    path: PathBuf,
    file: Option<File>,
    line: Vec<u8>,
    repeats: Repeats,
    /// The last message that tells of an error.
    trouble: Option<String>,
    /// Whether etcd has said that it goes on with data in which nothing is committed.
    went_on_with_nothing: bool,
}

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Debug,
    Warning,
    Error,
}

/// One message of etcd.
#[derive(Debug, PartialEq, Eq)]
struct Message {
    level: Level,
    text: String,
    /// The rest of it, as JSON.
    details: String,
}

impl Output {
    /// Follows the file at `path` from its present end on.
    pub fn follow(path: PathBuf) -> Output {
        let mut file = File::open(&path).ok();
        if let Some(file) = &mut file {
            file.seek(SeekFrom::End(0)).ok();
        }
        Output {
            path,
            file,
            line: Vec::new(),
            repeats: Repeats::default(),
            trouble: None,
            went_on_with_nothing: false,
        }
    }

    /// Passes on what is new.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn pass_on(&mut self) -> io::Result<()> {
        self.read_to_end()?;
        if self.is_replaced() {
            self.line.clear();
            self.file = Some(File::open(&self.path)?);
            self.read_to_end()?;
        }
        Ok(())
    }

    /// The last message that told of an error, once.
    pub fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Whether etcd has said, since the last call, that it goes on with data of an interrupted
    /// first start. Its write-ahead log then names the member and nothing else: such a member knows
    /// no cluster, not even itself, and never comes to a leader. It has never voted and never taken
    /// a write, for the first record is committed with its own membership.
    pub fn take_went_on_with_nothing(&mut self) -> bool {
        std::mem::take(&mut self.went_on_with_nothing)
    }

    fn is_replaced(&self) -> bool {
        let Ok(now) = fs::metadata(&self.path) else {
            return false;
        };
        let open = self.file.as_ref().and_then(|file| file.metadata().ok());
        open.is_none_or(|open| (open.dev(), open.ino()) != (now.dev(), now.ino()))
    }

    fn read_to_end(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8192];
        loop {
            let Some(file) = &mut self.file else {
                return Ok(());
            };
            let count = file.read(&mut bytes)?;
            if count == 0 {
                return Ok(());
            }
            for part in bytes[..count].split_inclusive(|byte| *byte == b'\n') {
                let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
                self.line.extend(&part[..part.len().min(room)]);
                if part.ends_with(b"\n") {
                    let line = std::mem::take(&mut self.line);
                    self.pass_on_line(&String::from_utf8_lossy(&line));
                }
            }
        }
    }

    fn pass_on_line(&mut self, line: &str) {
        let message = Message::parse(line);
        if message.level == Level::Error {
            self.trouble = Some(format!("{} {}", message.text, message.details));
        }
        self.went_on_with_nothing |= message.goes_on_with_nothing();
        for line in self.repeats.of(&message, Instant::now()) {
            tracing::debug!(target: "etcd", "{line}");
        }
        if self.repeats.is_enough(&message.text) {
            return;
        }
        let Message { text, details, .. } = &message;
        match message.level {
            Level::Debug => tracing::debug!(target: "etcd", "{text} {details}"),
            Level::Warning => tracing::warn!(target: "etcd", "{text} {details}"),
            Level::Error => tracing::error!(target: "etcd", "{text} {details}"),
        }
    }
}

impl Message {
    /// Takes a line apart. A line that is not one of etcd's objects is a warning: Go prints such
    /// lines when a program breaks.
    fn parse(line: &str) -> Message {
        let Ok(mut object) = serde_json::from_str::<Map<String, Value>>(line) else {
            return Message {
                level: Level::Warning,
                text: line.trim_end().to_owned(),
                details: String::new(),
            };
        };
        let mut take = |name: &str| match object.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let level = match &*take("level") {
            "debug" | "info" => Level::Debug,
            "warn" => Level::Warning,
            _ => Level::Error,
        };
        let text = take("msg");
        // Our own messages have a time, and places in etcd's sources help nobody here.
        for name in ["ts", "caller", "stacktrace"] {
            take(name);
        }
        let details = match object.is_empty() {
            true => String::new(),
            false => Value::Object(object).to_string(),
        };
        Message {
            level,
            text,
            details,
        }
    }
}

impl Message {
    fn goes_on_with_nothing(&self) -> bool {
        let details = serde_json::from_str::<Value>(&self.details);
        let committed = details.as_ref().map(|it| &it["commit-index"]);
        self.text == "restarting local member" && committed.is_ok_and(|it| *it == 0)
    }
}

/// How often each text came in the present minute.
#[derive(Default)]
struct Repeats {
    since: Option<Instant>,
    counts: BTreeMap<String, u32>,
}

impl Repeats {
    /// Counts a message. Returns what there is to say about the minute that is over.
    fn of(&mut self, message: &Message, now: Instant) -> Vec<String> {
        let mut said = Vec::new();
        if self.since.is_none_or(|since| now >= since + MINUTE) {
            self.since = Some(now);
            let counts = std::mem::take(&mut self.counts).into_iter();
            let many = counts.filter(|(_, count)| *count > REPEATS_MAX);
            said.extend(many.map(|(text, count)| {
                let more = count - REPEATS_MAX;
                format!("{text}: {more} more times within a minute")
            }));
        }
        if self.counts.len() < TEXTS_MAX || self.counts.contains_key(&message.text) {
            *self.counts.entry(message.text.clone()).or_default() += 1;
        }
        said
    }

    fn is_enough(&self, text: &str) -> bool {
        self.counts.get(text).is_none_or(|it| *it > REPEATS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_apart() {
        let line = r#"{"level":"warn","ts":"2026","caller":"a.go:1","msg":"slow","took":"2s"}"#;
        let expected = Message {
            level: Level::Warning,
            text: "slow".to_owned(),
            details: r#"{"took":"2s"}"#.to_owned(),
        };
        assert_eq!(Message::parse(line), expected);
        assert_eq!(Message::parse("panic: no\n").text, "panic: no");
        assert_eq!(Message::parse(r#"{"level":"fatal"}"#).level, Level::Error);
    }

    #[test]
    fn data_of_an_interrupted_start_are_known_by_the_message() {
        let of = |index: u64| {
            let line = r#"{"level":"info","msg":"restarting local member","commit-index":"#;
            Message::parse(&format!("{line}{index}}}")).goes_on_with_nothing()
        };
        assert!(of(0));
        assert!(!of(4));
    }

    #[test]
    fn equal_messages_are_few() {
        let mut repeats = Repeats::default();
        let start = Instant::now();
        let message = Message::parse(r#"{"level":"warn","msg":"slow"}"#);
        let mut passed = 0;
        for _ in 0..100 {
            assert!(repeats.of(&message, start).is_empty());
            passed += u32::from(!repeats.is_enough("slow"));
        }
        assert_eq!(passed, REPEATS_MAX);
        let said = repeats.of(&message, start + MINUTE);
        assert_eq!(said, ["slow: 97 more times within a minute"]);
        assert!(!repeats.is_enough("slow"));
    }

    #[test]
    fn a_file_is_followed_through_its_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etcd.log");
        let error = |text: &str| format!("{{\"level\":\"error\",\"msg\":\"{text}\"}}\n");
        fs::write(&path, error("old")).unwrap();
        let mut output = Output::follow(path.clone());
        output.pass_on().unwrap();
        assert_eq!(output.take_trouble(), None);
        fs::write(&path, format!("{}{}", error("old"), error("one"))).unwrap();
        output.pass_on().unwrap();
        assert_eq!(output.take_trouble().as_deref(), Some("one "));
        fs::rename(&path, folder.path().join("older.log")).unwrap();
        fs::write(&path, error("two")).unwrap();
        output.pass_on().unwrap();
        assert_eq!(output.take_trouble().as_deref(), Some("two "));
    }
}
