//! Word lists: files beside the template, or the lists shipped with Pando.

use std::path::Path;
use std::sync::Arc;

use super::options::ParseOptions;

const SHIPPED: &[(&str, &str)] = &[
    ("cities", include_str!("../../data/cities")),
    ("first.names", include_str!("../../data/first.names")),
    ("last.names", include_str!("../../data/last.names")),
    ("states", include_str!("../../data/states")),
    ("streets", include_str!("../../data/streets")),
];

/// First and last names, combined so that pairs stay unique.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub first: Arc<[Vec<u8>]>,
    pub last: Arc<[Vec<u8>]>,
}

impl Names {
    pub fn load(options: &ParseOptions) -> Result<Names, String> {
        Ok(Names {
            first: lines("first.names", options)?,
            last: lines("last.names", options)?,
        })
    }

    /// Returns the pair with this number: first name, last name, and how often all pairs were used
    /// up.
    pub fn pair(&self, number: u64) -> (&[u8], &[u8], u64) {
        let (first, last) = (self.first.len() as u64, self.last.len() as u64);
        let at = number % first;
        let walk = number / first;
        let name = &self.first[at as usize];
        let surname = &self.last[((at + walk) % last) as usize];
        (name, surname, walk / last)
    }
}

/// Returns the lines of a file: an absolute path, one below the given folders, or a shipped list.
pub(crate) fn lines(path: &str, options: &ParseOptions) -> Result<Arc<[Vec<u8>]>, String> {
    let bytes = octets(path, options)?;
    let trimmed = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let lines: Vec<Vec<u8>> = bytes
        .split(|&byte| byte == b'\n')
        .map(trimmed)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        return Err(format!("expected at least one line in {path}"));
    }
    Ok(lines.into())
}

/// Returns the content of a file, looked for in the places where [`lines`] looks.
pub(crate) fn octets(path: &str, options: &ParseOptions) -> Result<Vec<u8>, String> {
    let mut candidates = vec![Path::new(path).to_path_buf()];
    if Path::new(path).is_relative() && !options.folders.is_empty() {
        candidates = options
            .folders
            .iter()
            .map(|folder| folder.join(path))
            .collect();
    }
    if let Some(candidate) = candidates.iter().find(|candidate| candidate.is_file()) {
        return std::fs::read(candidate).map_err(|error| format!("cannot read {path}: {error}"));
    }
    match SHIPPED.iter().find(|(name, _)| *name == path) {
        Some((_, text)) => Ok(text.as_bytes().to_vec()),
        None => Err(format!("expected the file {path} beside the template")),
    }
}
