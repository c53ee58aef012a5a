//! Fuzz body: manifests of backups, by themselves and at the end of a backup that is one file.

use super::manifest::Manifest;
use super::single::{end_of, write_end};
use std::io::Cursor;
use std::path::Path;

/// A parsed manifest prints to text that parses to an equal one, also at the end of a file.
pub fn manifest(bytes: &[u8]) {
    let name = Path::new("fuzz");
    if let Ok(Some(end)) = end_of(&mut Cursor::new(bytes)) {
        assert!(end.manifest.len() + end.settings.len() < bytes.len());
    }
    let Some(manifest) = parsed(bytes) else {
        return;
    };
    let printed = manifest.text(name).expect("what was read can be written");
    assert_eq!(Manifest::parse(&printed).as_ref(), Ok(&manifest));
    let mut file = bytes.to_vec();
    write_end(&manifest, bytes, &mut file, name).expect("memory takes it");
    let end = end_of(&mut Cursor::new(&file)).expect("memory is read");
    let end = end.expect("it was just written");
    assert_eq!((end.manifest, &end.settings[..]), (printed, bytes));
}

fn parsed(bytes: &[u8]) -> Option<Manifest> {
    Manifest::parse(std::str::from_utf8(bytes).ok()?).ok()
}
