//! `pando explain`: shows how a search is carried out, as the server reports it in the explain
//! control.

use crate::channel::{Channel, refused};
use crate::cli::{Explain, ExplainScope, Remote, Report};
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, note, say};
use indicatif::HumanCount;
use protocol::ber::Reader;
use protocol::control::{
    ExplainedPart, ExplainedRegion, Explanation, PagedResults, SortKey, SortRequest,
};
use protocol::counted;
use protocol::{
    Filter, OwnedControl, Request, Response, ResponseMessage, ResultCode, Scope, SearchRequest,
    oid, parse_filter,
};
use serde_json::{Value, json};
use std::path::Path;

/// Maximum depth of the filter; servers refuse deeper ones.
const FILTER_DEPTH_MAX: u8 = 32;

/// Prints the explanation.
pub fn explain(it: &Explain) -> Result<(), Problem> {
    let (mut channel, filter) = match (it.what.as_slice(), &it.remote.url) {
        ([filter], Some(url)) => (connect(url, &it.remote)?, filter),
        ([dir, filter], None) => (Channel::open(Path::new(dir))?, filter),
        (_, None) => {
            return Err(Problem::usage(
                "expected a folder and a filter, as in `pando explain DIR '(cn=ada)'`",
            ));
        }
        (_, Some(_)) => return Err(Problem::usage("expected only a filter beside --url")),
    };
    let encoded = parse_filter(filter)
        .map_err(|error| Problem::usage(format_args!("filter {filter}: {error}")))?;
    let base = match &it.base {
        Some(base) => base.clone(),
        None => first_context(&mut channel)?,
    };
    let request = request(&base, it.scope, &encoded)?;
    let answers = channel.call_with(&request, &controls(it))?;
    let last = answers.last().map(Vec::as_slice).unwrap_or_default();
    let message = ResponseMessage::decode(last).map_err(Problem::failed)?;
    let Response::SearchDone(result) = &message.response else {
        return Err(Problem::failed(
            "the server's last response has no result code",
        ));
    };
    let control = message.controls.iter().find(|it| it.oid == oid::EXPLAIN);
    let Some(value) = control.and_then(|it| it.value) else {
        return Err(refused(result));
    };
    let explanation = Explanation::decode(value).map_err(Problem::failed)?;
    match it.format {
        Report::Text => say(text(&explanation))?,
        Report::Json => {
            let text = serde_json::to_string_pretty(&as_json(&explanation));
            say(text.map_err(Problem::failed)?)?;
        }
    }
    if result.code != ResultCode::SUCCESS {
        note(format_args!(
            "the search was stopped: {} ({})",
            result.diagnostic,
            result.code.name()
        ));
    }
    Ok(())
}

fn connect(url: &str, remote: &Remote) -> Result<Channel, Problem> {
    let target = Target::new("--url", url, remote.starttls, remote.ca.as_deref())?;
    let (Some(name), Some(file)) = (&remote.bind_dn, &remote.bind_password_file) else {
        return Err(Problem::usage(
            "--url: expected --bind-dn and --bind-password-file, too: only the administrator may \
             have searches explained",
        ));
    };
    Channel::connect(&target, name, &first_line(file)?)
}

/// The explain control, and the controls of the search to explain.
fn controls(it: &Explain) -> Vec<OwnedControl> {
    let mut controls = vec![OwnedControl::new(oid::EXPLAIN, true)];
    if !it.sort.is_empty() {
        let keys = it.sort.iter().map(|key| SortKey {
            attribute: key.strip_prefix('-').unwrap_or(key),
            ordering_rule: None,
            reverse: key.starts_with('-'),
        });
        let keys = keys.collect();
        controls.push(OwnedControl::with_value(oid::SORT_REQUEST, true, |out| {
            SortRequest { keys }.encode(out);
        }));
    }
    if let Some(size) = it.page {
        let page = PagedResults { size, cookie: &[] };
        controls.push(OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| {
            page.encode(out);
        }));
    }
    controls
}

fn request<'r>(
    base: &'r str,
    scope: ExplainScope,
    filter: &'r [u8],
) -> Result<Request<'r>, Problem> {
    let filter = Filter::decode(&mut Reader::new(filter), FILTER_DEPTH_MAX);
    Ok(Request::Search(SearchRequest {
        attributes: vec![oid::NO_ATTRIBUTES],
        ..SearchRequest::new(
            base,
            match scope {
                ExplainScope::Base => Scope::BaseObject,
                ExplainScope::One => Scope::SingleLevel,
                ExplainScope::Sub => Scope::WholeSubtree,
                ExplainScope::Children => Scope::Subordinate,
            },
            filter.map_err(|error| Problem::usage(format_args!("filter: {error}")))?,
        )
    }))
}

/// The first naming context of a server.
fn first_context(channel: &mut Channel) -> Result<String, Problem> {
    let found = channel.first_value("", "namingContexts")?;
    found.ok_or_else(|| Problem::usage("expected --base: the server names no naming context"))
}

fn text(it: &Explanation<'_>) -> String {
    let mut lines = Vec::new();
    for region in &it.regions {
        let base = match region.base {
            "" => "all naming contexts",
            base => base,
        };
        lines.push(format!("below {base}: {}", region.plan));
        let each: Vec<[String; 3]> = region.parts.iter().map(columns).collect();
        let width = |at: usize| each.iter().map(|it| it[at].chars().count()).max();
        let (first, second) = (width(0).unwrap_or(0), width(1).unwrap_or(0));
        for [filter, found_by, estimate] in &each {
            lines.push(format!("  {filter:first$}  {found_by:second$}  {estimate}"));
        }
        if let [one, more @ ..] = region.advice.as_slice() {
            let more: String = more
                .iter()
                .map(|it| format!(" and `pando index add DIR {it}`"))
                .collect();
            lines.push(format!("  `pando index add DIR {one}`{more} would help"));
        }
    }
    lines.push(format!(
        "{} looked at, {} compared with the filter, {} found, in {:.1} ms",
        counted(it.examined, "entry"),
        HumanCount(it.tested),
        HumanCount(it.matched),
        it.microseconds as f64 / 1_000.0
    ));
    lines.join("\n")
}

fn columns(part: &ExplainedPart<'_>) -> [String; 3] {
    let indent = "  ".repeat(part.depth as usize);
    let found_by = match part.found_by {
        "" => "no index",
        found_by => found_by,
    };
    [
        format!("{indent}{}", part.filter),
        found_by.to_owned(),
        format!("about {}", HumanCount(part.estimate)),
    ]
}

fn as_json(it: &Explanation<'_>) -> Value {
    json!({
        "examined": it.examined,
        "tested": it.tested,
        "matched": it.matched,
        "microseconds": it.microseconds,
        "regions": it.regions.iter().map(region_as_json).collect::<Vec<_>>(),
    })
}

fn region_as_json(it: &ExplainedRegion<'_>) -> Value {
    let parts = it.parts.iter().map(|part| {
        json!({
            "depth": part.depth,
            "filter": part.filter,
            "found_by": part.found_by,
            "estimate": part.estimate,
        })
    });
    json!({
        "base": it.base,
        "plan": it.plan,
        "estimate": it.estimate,
        "scan": it.scan,
        "advice": it.advice,
        "parts": parts.collect::<Vec<_>>(),
    })
}
