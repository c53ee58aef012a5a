//! The metrics of a server: the entries of `cn=monitor` by name.

use crate::channel::{Channel, refused};
use crate::report::Problem;
use protocol::{
    Filter, LdapResult, Request, Response, ResponseMessage, ResultCode, Scope, SearchRequest,
};

/// Base of the monitor, the end of every name.
const BASE: &str = "cn=monitor";

/// All entries of the monitor.
#[derive(Debug, Default)]
pub struct Figures {
    entries: Vec<Shown>,
}

/// One entry.
#[derive(Debug, Default)]
pub struct Shown {
    /// The name without the base: `cn=Bind,cn=Operations`.
    pub rdns: String,
    attributes: Vec<(String, Vec<String>)>,
}

impl Shown {
    /// The values of an attribute.
    pub fn texts(&self, attribute: &str) -> &[String] {
        let mut all = self.attributes.iter();
        let found = all.find(|(name, _)| name.eq_ignore_ascii_case(attribute));
        found.map_or(&[], |(_, values)| values)
    }

    /// The first value of an attribute; empty if there is none.
    pub fn text(&self, attribute: &str) -> &str {
        self.texts(attribute).first().map_or("", String::as_str)
    }

    /// The number in an attribute; `None` if there is none.
    pub fn number(&self, attribute: &str) -> Option<u64> {
        self.text(attribute).parse().ok()
    }
}

impl Figures {
    /// Reads all entries from a server.
    pub fn ask(channel: &mut Channel) -> Result<Figures, Problem> {
        Figures::ask_for(channel, BASE)
    }

    /// Reads one entry and its subordinates from a server.
    pub fn ask_for(channel: &mut Channel, base: &str) -> Result<Figures, Problem> {
        let answers = channel.call(&Request::Search(SearchRequest {
            attributes: vec!["*", "+"],
            ..SearchRequest::new(base, Scope::WholeSubtree, Filter::Present("objectClass"))
        }))?;
        let mut figures = Figures::default();
        for answer in &answers {
            let message = ResponseMessage::decode(answer).map_err(Problem::failed)?;
            match message.response {
                Response::SearchEntry { name, attributes } => {
                    let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
                    let attributes = attributes.iter().map(|it| {
                        let values = it.values.into_iter().map(text).collect();
                        (it.description.to_owned(), values)
                    });
                    let rdns = name.strip_suffix(BASE).unwrap_or(name);
                    figures.entries.push(Shown {
                        rdns: rdns.trim_end_matches(',').to_owned(),
                        attributes: attributes.collect(),
                    });
                }
                Response::SearchDone(result) => done(&result)?,
                _ => {}
            }
        }
        Ok(figures)
    }

    /// The entry of a name; an empty entry if the server does not return it.
    pub fn at(&self, rdns: &str) -> &Shown {
        const NOTHING: &Shown = &Shown {
            rdns: String::new(),
            attributes: Vec::new(),
        };
        let mut all = self.entries.iter();
        all.find(|it| it.rdns == rdns).unwrap_or(NOTHING)
    }

    /// The entries directly below one.
    pub fn below<'f>(&'f self, rdns: &str) -> impl Iterator<Item = &'f Shown> {
        let end = format!(",{rdns}");
        self.entries.iter().filter(move |it| {
            let own = it.rdns.strip_suffix(&end);
            own.is_some_and(|it| !it.contains(','))
        })
    }

    /// The value of a counter.
    pub fn counter(&self, rdns: &str) -> u64 {
        self.at(rdns).number("monitorCounter").unwrap_or(0)
    }
}

fn done(result: &LdapResult) -> Result<(), Problem> {
    match result.code {
        ResultCode::SUCCESS => Ok(()),
        ResultCode::NO_SUCH_OBJECT => Err(Problem::failed(
            "cn=monitor is not shown: expected a Pando server and the administrator's name",
        )),
        _ => Err(refused(result)),
    }
}
