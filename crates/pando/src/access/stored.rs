//! The rules that a node keeps below `cn=access,cn=config`, and the set before them.

use crate::channel::{Channel, refused};
use crate::report::Problem;
use policy::access::parse::parse;
use policy::access::print::print;
use policy::access::rules::Rule;
use protocol::name::parse_name;
use protocol::{
    DerefAliases, Filter, Request, Response, ResponseMessage, ResultCode, Scope, SearchRequest,
};

/// The entry below which the rules are; it keeps the former set.
pub const CONTAINER: &str = "cn=access,cn=config";
/// The superior of the container.
const CONFIG: &str = "cn=config";

/// Attribute with the text of one rule.
pub const TEXT: &str = "pandoAccessText";
/// Attribute with the place of a rule among the others.
pub const ORDER: &str = "pandoAccessOrder";
/// Attribute of the container with the former set.
pub const FORMER: &str = "pandoAccessFormer";

/// Text of the set without rules.
pub const NOTHING: &str = "# no access rules: the built-in ones decide\n";

/// The rules of a node.
#[derive(Debug, Default)]
pub struct Stored {
    /// The rules in the order in which they are asked.
    pub rules: Vec<StoredRule>,
    /// Whether the container is there.
    pub has_container: bool,
    /// Whether the container is hidden, so that the rules are only those within areas that were
    /// handed over to the client.
    pub is_partial: bool,
    /// The set before this one, as one text; `None` if no set has been replaced.
    pub former: Option<String>,
}

/// The entry of a rule.
#[derive(Debug, Default)]
pub struct StoredRule {
    /// Name of the entry.
    pub dn: String,
    /// Values of `cn`.
    pub names: Vec<String>,
    /// Text of the rule.
    pub text: String,
    /// Place of the rule as spelled.
    pub order: String,
}

impl Stored {
    /// Reads the rules of a node.
    ///
    /// # Errors
    /// The configuration cannot be read, e.g. because the client is not the administrator.
    pub fn read(channel: &mut Channel) -> Result<Stored, Problem> {
        let mut stored = Stored::default();
        for answer in channel.call(&Request::Search(SearchRequest {
            base: CONTAINER,
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter: Filter::Present("objectClass"),
            attributes: vec!["cn", TEXT, ORDER, FORMER],
        }))? {
            let message = ResponseMessage::decode(&answer).map_err(Problem::failed)?;
            match message.response {
                Response::SearchEntry { name, attributes } => {
                    let values = |wanted: &str| -> Vec<String> {
                        let found = attributes
                            .iter()
                            .filter(|it| it.description.eq_ignore_ascii_case(wanted));
                        let values = found.flat_map(|it| it.values);
                        values
                            .map(|it| String::from_utf8_lossy(it).into_owned())
                            .collect()
                    };
                    let first = |wanted| values(wanted).into_iter().next();
                    match first(TEXT) {
                        Some(text) => stored.rules.push(StoredRule {
                            dn: name.to_owned(),
                            names: values("cn"),
                            text,
                            order: first(ORDER).unwrap_or_default(),
                        }),
                        None => {
                            stored.has_container = true;
                            stored.former = first(FORMER);
                        }
                    }
                }
                Response::SearchDone(result) if result.code == ResultCode::NO_SUCH_OBJECT => {
                    require_configuration(channel)?;
                }
                Response::SearchDone(result) if result.code != ResultCode::SUCCESS => {
                    return Err(refused(&result).about(CONTAINER));
                }
                Response::SearchDone(_) => stored.is_partial = !stored.has_container,
                _ => {}
            }
        }
        // Rules of equal places stay as they came, which is how the server takes them.
        stored
            .rules
            .sort_by_key(|it| (it.depth(), it.order.parse().unwrap_or(i64::MAX)));
        Ok(stored)
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rules, in their order.
    ///
    /// # Errors
    /// The entry whose text is no rule; a server refuses to be given such an entry.
    pub fn rules(&self) -> Result<Vec<Rule>, Problem> {
        let mut rules = Vec::new();
        for stored in &self.rules {
            let read = parse(&stored.text)
                .map_err(|error| Problem::failed(format_args!("{}: {error}", stored.dn)))?;
            rules.extend(read.rules);
        }
        Ok(rules)
    }

    /// The rules as one text that `apply` takes.
    ///
    /// # Errors
    /// Those of [`Stored::rules`].
    pub fn text(&self) -> Result<String, Problem> {
        let rules = self.rules()?;
        Ok(match rules.is_empty() {
            true => NOTHING.to_owned(),
            false => print(&rules),
        })
    }

    /// The text of the former set.
    ///
    /// # Errors
    /// There is none.
    pub fn former(&self) -> Result<&str, Problem> {
        self.former.as_deref().ok_or_else(|| match self.is_partial {
            true => Problem::failed("expected the administrator, who alone sees the former rules"),
            false => Problem::failed(
                "no former access rules: `pando access apply` has not been used here",
            ),
        })
    }

    /// Refuses to replace the rules by a set without a rule within an area, which somebody else
    /// may have written.
    ///
    /// # Errors
    /// The names of the rules that would be removed; those of [`Stored::rules`].
    pub fn refuse_loss(&self, rules: &[Rule]) -> Result<(), Problem> {
        if self.is_partial {
            return Ok(());
        }
        let stays = |it: &Rule| {
            let is_it = |other: &Rule| other.within.is_some() && other.name == it.name;
            rules.iter().any(is_it)
        };
        let now = self.rules()?;
        let lost = now.iter().filter(|it| it.within.is_some() && !stays(it));
        let lost: Vec<&str> = lost.map(|it| it.name.as_str()).collect();
        match lost.is_empty() {
            true => Ok(()),
            false => Err(Problem::failed(format_args!(
                "nothing was applied, as rules within an area would be removed: {}; `pando access \
                 show` prints them, --force removes them",
                lost.join(", ")
            ))),
        }
    }
}

impl StoredRule {
    /// A number that puts the rule behind those of larger areas, as the server asks them.
    fn depth(&self) -> usize {
        let rule = parse(&self.text)
            .ok()
            .and_then(|it| it.rules.into_iter().next());
        let area = rule.and_then(|it| it.within);
        area.map_or(0, |dn| parse_name(&dn).map_or(0, |it| it.rdns.len() + 1))
    }
}

/// Fails if the configuration is hidden, in which case missing rules mean nothing.
fn require_configuration(channel: &mut Channel) -> Result<(), Problem> {
    match channel.first_value(CONFIG, "objectClass")? {
        Some(_) => Ok(()),
        None => Err(Problem::failed(format_args!(
            "{CONFIG}: expected the administrator, or somebody with the right \"administer\": \
             others may not read access rules"
        ))),
    }
}
