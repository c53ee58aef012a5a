//! Resolves names and counts.

use super::model::Plan;
use super::parse::Source;
use super::{ParseOptions, TemplateError};

pub(crate) fn plan(_source: Source, _options: &ParseOptions) -> Result<Plan, TemplateError> {
    unimplemented!()
}

pub(crate) fn add_suffix_entries(
    _plan: &mut Plan,
    _suffixes: &[&str],
) -> Result<(), TemplateError> {
    unimplemented!()
}
