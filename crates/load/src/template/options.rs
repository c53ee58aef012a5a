//! Options of compiling a template.

use std::path::PathBuf;

/// The options of compiling a template.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Folders in which `<file:…>` and `attr:< file:…` look for relative paths, in this order; the
    /// lists shipped with Pando follow.
    pub folders: Vec<PathBuf>,
    /// Whether `attr:< file:///…` lines are accepted.
    pub file_urls: bool,
    /// Whether tags count as in SLAMD: the `<sequential>` tags of one attribute share one counter.
    pub slamd_counters: bool,
}
