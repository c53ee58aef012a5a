//! Values in files of their own (RFC 2849: `jpegPhoto:< file:///photos/ada.jpg`).
//!
//! Read only on request, because the author of the LDIF chooses which files of this machine become
//! values in the directory.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of a file in bytes; a larger value would fit no message.
const VALUE_BYTES_MAX: u64 = 64 << 20;

/// Appends the content of the file that a URL names. The error says why the file cannot be read.
pub(super) fn read(url: &str, out: &mut Vec<u8>) -> Result<(), String> {
    let path = path_of(url)?;
    let failed = |error| format!("cannot read '{}': {error}", path.display());
    let start = out.len();
    let read = open(&path).and_then(|it| it.take(VALUE_BYTES_MAX + 1).read_to_end(out));
    let count = read.map_err(failed)?;
    if count as u64 > VALUE_BYTES_MAX {
        out.truncate(start);
        let shown = path.display();
        return Err(format!(
            "expected a value of at most 64 MiB, '{shown}' is larger"
        ));
    }
    Ok(())
}

/// Refuses a URL, for imports that read no files.
pub(super) fn refuse(url: &str, _: &mut Vec<u8>) -> Result<(), String> {
    let why = "files are read only when asked for (--file-urls)";
    Err(format!("expected a value, got the URL '{url}': {why}"))
}

/// Opens a regular file; a FIFO could block the import forever.
fn open(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("expected an ordinary file"));
    }
    File::open(path)
}

/// The path in a `file:` URL (RFC 8089): `file:///path`, `file:/path` or `file://localhost/path`.
fn path_of(url: &str) -> Result<PathBuf, String> {
    let expected = || format!("expected a URL of the form file:///PATH, got '{url}'");
    let (scheme, rest) = url.split_once(':').ok_or_else(expected)?;
    let path = match rest.strip_prefix("//") {
        Some(after) => after.strip_prefix("localhost").unwrap_or(after),
        None => rest,
    };
    if !scheme.eq_ignore_ascii_case("file") || !path.starts_with('/') {
        return Err(expected());
    }
    decoded(path).map(PathBuf::from).ok_or_else(expected)
}

/// The text without percent-encoding (RFC 3986 §2.1); `None` if that is malformed.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_files_of_this_machine() {
        for (url, path) in [
            ("file:///a/b.jpg", "/a/b.jpg"),
            ("FILE:/a%20b", "/a b"),
            ("file://localhost/%C3%A4", "/ä"),
        ] {
            assert_eq!(path_of(url), Ok(PathBuf::from(path)), "{url}");
        }
        for url in [
            "",
            "/a",
            "file:a",
            "file://host/a",
            "file:///%2",
            "file:///%zz",
            "file:///%FF",
            "http://a/b",
            "ldap:///dc=a",
        ] {
            assert!(path_of(url).is_err(), "{url}");
        }
    }

    #[test]
    fn only_ordinary_files_are_values() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("value");
        std::fs::write(&file, b"\0\xff").unwrap();
        let mut out = b"before".to_vec();
        read(&format!("file://{}", file.display()), &mut out).unwrap();
        assert_eq!(out, b"before\0\xff");
        for other in [folder.path().to_path_buf(), folder.path().join("nothing")] {
            let url = format!("file://{}", other.display());
            assert!(read(&url, &mut out).is_err(), "{url}");
        }
        assert!(read("file:///dev/zero", &mut out).is_err());
        assert_eq!(out, b"before\0\xff");
    }
}
