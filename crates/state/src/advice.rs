//! Names the indexes that would help a search, in the form of arguments of `pando index add`.

use crate::stop::Stop;
use crate::view::View;
use store::{Advice, IndexKind};

/// Returns the indexes that would find the entries of a filter, by attribute; empty if complete
/// ones do already or none can help.
pub fn indexes(
    context: &View<'_>,
    filter: &schema::Filter,
) -> Result<Vec<(String, IndexKind)>, Stop> {
    let schema = &context.catalog.schema;
    let Advice::Add(indexes) = context.advise(filter)? else {
        return Ok(Vec::new());
    };
    let name = |type_id| schema.type_of(type_id).name().to_owned();
    let named = indexes.into_iter().map(|(it, kind)| (name(it), kind));
    Ok(named.collect())
}

/// Returns the missing indexes as texts.
pub fn texts(context: &View<'_>, filter: &schema::Filter) -> Result<Vec<String>, Stop> {
    let text = |(attribute, kind): &(String, IndexKind)| format!("{attribute} {}", kind.name());
    Ok(indexes(context, filter)?.iter().map(text).collect())
}

/// Returns a clause for a diagnostic message; empty if no index can help.
pub fn sentence(context: &View<'_>, filter: &schema::Filter) -> Result<String, Stop> {
    let texts = texts(context, filter)?;
    if texts.is_empty() {
        return Ok(String::new());
    }
    let each: Vec<String> = texts
        .iter()
        .map(|it| format!("\"pando index add DIR {it}\""))
        .collect();
    Ok(format!("; {} would help", each.join(" and ")))
}
