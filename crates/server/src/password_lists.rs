//! Lists of words and of passwords that became known, as sorted files. They may be larger than
//! memory, so each question reads a few blocks: a binary search over the lines. The file is opened
//! for each question, so that a newer one can take its place.

use policy::quality::PasswordLists;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Octets of a line at most, its end included.
const LINE_MAX: usize = 256;

/// The files of the lists, where the settings name any.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileLists {
    /// Words in lower case, one in each line, sorted by octets.
    pub dictionary: Option<PathBuf>,
    /// SHA-1 digests in upper-case hexadecimal, each with `:` and a number behind it, sorted.
    pub breached: Option<PathBuf>,
}

impl PasswordLists for FileLists {
    fn has_word(&self, word: &str) -> io::Result<bool> {
        has(self.dictionary.as_deref(), "passwords.dictionary", word)
    }

    fn has_digest(&self, digest: &str) -> io::Result<bool> {
        has(self.breached.as_deref(), "passwords.breached", digest)
    }
}

fn has(path: Option<&Path>, setting: &str, key: &str) -> io::Result<bool> {
    let path = path.ok_or_else(|| io::Error::other(format!("{setting} names no file")))?;
    let found = File::open(path).and_then(|file| {
        let length = file.metadata()?.len();
        find(&file, length, key.as_bytes())
    });
    found.map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("{setting}: {}: {error}", path.display()),
        )
    })
}

/// Whether a line of a sorted file is the key, or begins with it and a colon.
fn find(file: &File, length: u64, key: &[u8]) -> io::Result<bool> {
    let (mut low, mut high) = (0, length);
    while low < high {
        let line = line_at(file, low, low + (high - low) / 2)?;
        let end = line.text.iter().position(|it| *it == b':');
        let text = &line.text[..end.unwrap_or(line.text.len())];
        match text.cmp(key) {
            std::cmp::Ordering::Equal => return Ok(true),
            std::cmp::Ordering::Less => low = line.next,
            std::cmp::Ordering::Greater => high = line.start,
        }
    }
    Ok(false)
}

/// A line without its end.
struct Line {
    start: u64,
    text: Vec<u8>,
    /// Where the next line starts.
    next: u64,
}

/// The line that has the octet at a place. `low` is the start of a line at or before it.
fn line_at(file: &File, low: u64, place: u64) -> io::Result<Line> {
    let begin = low.max(place.saturating_sub(LINE_MAX as u64));
    let mut buffer = [0; 2 * LINE_MAX];
    let got = read_at(file, &mut buffer, begin)?;
    let at = usize::try_from(place - begin).unwrap_or(usize::MAX);
    let too_long = || {
        let text = format!("expected lines of at most {LINE_MAX} octets near octet {place}");
        io::Error::new(ErrorKind::InvalidData, text)
    };
    let read = buffer
        .get(..got)
        .filter(|it| at < it.len())
        .ok_or_else(too_long)?;
    let start = match read[..at].iter().rposition(|it| *it == b'\n') {
        Some(end) => end + 1,
        None if begin == low => 0,
        None => return Err(too_long()),
    };
    let (end, next) = match read[at..].iter().position(|it| *it == b'\n') {
        Some(end) => (at + end, at + end + 1),
        // The last line may lack its end.
        None if got < buffer.len() => (got, got),
        None => return Err(too_long()),
    };
    let text = &read[start..end];
    Ok(Line {
        start: begin + start as u64,
        text: text.strip_suffix(b"\r").unwrap_or(text).to_vec(),
        next: begin + next as u64,
    })
}

/// Reads until the buffer is full or the file ends.
fn read_at(file: &File, buffer: &mut [u8], mut place: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], place) {
            Ok(0) => break,
            Ok(count) => {
                got += count;
                place += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn every_line_of_a_sorted_file_is_found_and_no_other() {
        let mut words: Vec<String> = (0..2_000)
            .map(|it| format!("w{}", it * 7_919 % 65_536))
            .collect();
        words.sort();
        words.dedup();
        for (end, last) in [("\n", "\n"), ("\r\n", "\r\n"), ("\n", ""), (":17\n", ":3")] {
            let (_folder, path) = file(&format!("{}{last}", words.join(end)));
            let has = |word: &str| has(Some(&path), "list", word).unwrap();
            for word in &words {
                assert!(has(word), "{word} {end:?}");
            }
            for other in ["", "a", "w", "z", "w0x", "W0"] {
                assert!(!has(other), "{other} {end:?}");
            }
        }
        let (_folder, path) = file("");
        assert!(!has(Some(&path), "list", "a").unwrap());
    }

    #[test]
    fn what_is_no_list_of_lines_is_an_error_that_names_the_file() {
        let (_folder, path) = file(&"x".repeat(10_000));
        let error = has(Some(&path), "passwords.dictionary", "a")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("passwords.dictionary: ") && error.contains("list: expected"));
        assert!(has(Some(Path::new("/nowhere")), "list", "a").is_err());
        assert!(has(None, "list", "a").is_err());
    }
}
