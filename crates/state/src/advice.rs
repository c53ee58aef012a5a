//! Names the indexes that would help a search, in the form of arguments of `pando index add`.

use crate::stop::Stop;
use crate::view::PlainView;
use store::{Advice, IndexKind};

/// Returns the indexes that would find the entries of a filter, by attribute; empty if complete
/// ones do already or none can help.
pub fn indexes(
    view: &PlainView<'_>,
    filter: &schema::Filter,
) -> Result<Vec<(String, IndexKind)>, Stop> {
    let schema = &view.catalog.schema;
    let Advice::Add(indexes) = view.advise(filter)? else {
        return Ok(Vec::new());
    };
    let name = |type_id| schema.type_of(type_id).name().to_owned();
    let named = indexes.into_iter().map(|(it, kind)| (name(it), kind));
    Ok(named.collect())
}

/// The indexes that would help, as texts.
pub fn texts(view: &PlainView<'_>, filter: &schema::Filter) -> Result<Vec<String>, Stop> {
    let text = |(attribute, kind): &(String, IndexKind)| format!("{attribute} {}", kind.name());
    Ok(indexes(view, filter)?.iter().map(text).collect())
}

/// A sentence for a diagnostic message; empty if no index can help.
pub fn sentence(view: &PlainView<'_>, filter: &schema::Filter) -> Result<String, Stop> {
    let texts = texts(view, filter)?;
    if texts.is_empty() {
        return Ok(String::new());
    }
    let each: Vec<String> = texts
        .iter()
        .map(|it| format!("\"pando index add DIR {it}\""))
        .collect();
    Ok(format!("; {} would help", each.join(" and ")))
}
