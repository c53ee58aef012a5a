//! `pando index advise`: prints indexes that would help the searches a server has carried out, with
//! the space they would take.

use crate::channel::Channel;
use crate::cli::Report;
use crate::node_folder::data_folder;
use crate::report::{Problem, say};
use crate::status::figures::{Figures, Shown};
use indicatif::{HumanBytes, HumanCount};
use protocol::counted;
use serde_json::{Value, json};
use std::path::Path;
use store::{IndexEstimate, IndexKind};
use transfer::estimate_indexes;

/// An expensive search.
struct Search {
    filter: String,
    count: u64,
    unindexed: u64,
    examined: u64,
    returned: u64,
    took_us: u64,
    /// The indexes that would help the search, if all of them exist.
    advice: Vec<(String, IndexKind)>,
}

/// An index, and the number of entries read by searches that it would help.
struct Proposal {
    attribute: String,
    kind: IndexKind,
    examined: u64,
    room: IndexEstimate,
}

/// Prints searches and proposals.
pub fn advise(dir: &Path, format: Report) -> Result<(), Problem> {
    let data = data_folder(dir)?;
    let Some(mut channel) = Channel::served(dir)? else {
        return Err(Problem::failed(format_args!(
            "{}: no process serves it; expensive searches are remembered by the serving process, \
             as long as it does",
            dir.display()
        )));
    };
    let figures = Figures::ask(&mut channel)?;
    let searches: Vec<Search> = figures.below("cn=Searches").map(Search::read).collect();
    let proposals = proposals(&data, &searches)?;
    match format {
        Report::Text => say(text(dir, &searches, &proposals)),
        Report::Json => {
            let all = json!({
                "searches": searches.iter().map(Search::json).collect::<Vec<_>>(),
                "proposals": proposals.iter().map(Proposal::json).collect::<Vec<_>>(),
            });
            say(serde_json::to_string_pretty(&all).map_err(Problem::failed)?)
        }
    }
}

/// All advised indexes, most useful first.
fn proposals(data: &Path, searches: &[Search]) -> Result<Vec<Proposal>, Problem> {
    let mut wanted: Vec<((String, IndexKind), u64)> = Vec::new();
    for search in searches {
        for index in &search.advice {
            match wanted.iter_mut().find(|(it, _)| it == index) {
                Some((_, examined)) => *examined += search.examined,
                None => wanted.push((index.clone(), search.examined)),
            }
        }
    }
    wanted.sort_by_key(|(_, examined)| std::cmp::Reverse(*examined));
    let indexes: Vec<(String, IndexKind)> = wanted.iter().map(|(it, _)| it.clone()).collect();
    if indexes.is_empty() {
        return Ok(Vec::new());
    }
    let rooms = estimate_indexes(data, true, &indexes).map_err(Problem::failed)?;
    let each = wanted.into_iter().zip(rooms);
    Ok(each
        .map(|(((attribute, kind), examined), room)| Proposal {
            attribute,
            kind,
            examined,
            room,
        })
        .collect())
}

impl Search {
    fn read(it: &Shown) -> Search {
        let number = |attribute: &str| it.number(attribute).unwrap_or(0);
        let index = |text: &String| {
            let (attribute, kind) = text.split_once(' ')?;
            let kind = IndexKind::ALL.into_iter().find(|it| it.name() == kind)?;
            Some((attribute.to_owned(), kind))
        };
        Search {
            filter: it.text("pandoSearchFilter").to_owned(),
            count: number("pandoSearchCount"),
            unindexed: number("pandoSearchUnindexed"),
            examined: number("pandoSearchExamined"),
            returned: number("pandoSearchReturned"),
            took_us: number("pandoSearchMicroseconds"),
            advice: it
                .texts("pandoIndexAdvice")
                .iter()
                .filter_map(index)
                .collect(),
        }
    }

    fn lines(&self) -> [String; 2] {
        let each = |sum: u64| sum / self.count.max(1);
        let unindexed = match self.unindexed {
            0 => String::new(),
            some => format!(" ({} without an index)", HumanCount(some)),
        };
        [
            self.filter.clone(),
            format!(
                "  {}{unindexed}: each looked at {}, found {}, took {:.1} ms",
                counted(self.count, "search"),
                counted(each(self.examined), "entry"),
                HumanCount(each(self.returned)),
                self.took_us as f64 / 1_000.0 / self.count.max(1) as f64
            ),
        ]
    }

    fn json(&self) -> Value {
        let advice = self.advice.iter();
        json!({
            "filter": self.filter,
            "count": self.count,
            "unindexed": self.unindexed,
            "examined": self.examined,
            "returned": self.returned,
            "microseconds": self.took_us,
            "advice": advice.map(|(it, kind)| format!("{it} {}", kind.name())).collect::<Vec<_>>(),
        })
    }
}

impl Proposal {
    fn line(&self, dir: &Path) -> String {
        format!(
            "pando index add {} {} {}\n  about {} for {}; looked at without it: {}",
            dir.display(),
            self.attribute,
            self.kind.name(),
            HumanBytes(self.room.bytes),
            counted(self.room.entries, "entry"),
            counted(self.examined, "entry")
        )
    }

    fn json(&self) -> Value {
        json!({
            "attribute": self.attribute,
            "kind": self.kind.name(),
            "bytes": self.room.bytes,
            "entries": self.room.entries,
            "examined": self.examined,
        })
    }
}

fn text(dir: &Path, searches: &[Search], proposals: &[Proposal]) -> String {
    if searches.is_empty() {
        return "no expensive searches since the start".to_owned();
    }
    let mut lines = vec!["most expensive searches since the start:".to_owned()];
    lines.extend(searches.iter().flat_map(Search::lines));
    match proposals {
        [] => lines.push("no index would help them".to_owned()),
        _ => {
            lines.push("indexes that would help, the most useful first:".to_owned());
            lines.extend(proposals.iter().map(|it| it.line(dir)));
        }
    }
    lines.join("\n")
}
