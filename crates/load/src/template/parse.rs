//! From text to definitions and lines; names and counts are resolved later.

use super::{Defines, TemplateError};

pub(crate) struct Source;

pub(crate) fn source(_text: &str, _defines: &Defines) -> Result<Source, TemplateError> {
    unimplemented!()
}
