//! Options of reading a template.

use std::path::PathBuf;

/// How a template is read.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Folders in which `<file:…>` and `attr:< file:…` look for relative paths, in this order;
    /// after them come the lists shipped with Pando.
    pub folders: Vec<PathBuf>,
    /// Accept `attr:< file:///…` lines.
    pub file_urls: bool,
    /// Number as SLAMD does: the `<sequential>` tags of one attribute share one counter.
    pub slamd_counters: bool,
}
