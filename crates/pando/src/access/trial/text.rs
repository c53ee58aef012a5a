//! Files of tests: names for subjects, facts, and questions with the expected answers.
//!
//! ```text
//! name ada "uid=ada,ou=People,dc=example,dc=com"
//! entries staff.ldif
//! member ada of "cn=hr,ou=Groups,dc=example,dc=com"
//!
//! ada via tls simple from 10.1.2.3, read, "uid=bob,dc=example,dc=com", mail, cn -> allowed
//! anonymous, read, ada, entry -> refused by before-bind
//! ```

use super::line::{Line, Token};
use super::world::World;
use crate::report::Problem;
use policy::access::decide::Question;
use policy::access::facts::{Asker, Identity, Origin};
use policy::access::hours::WeekMinute;
use policy::access::objects::Object;
use policy::access::right::{Right, RightWord};
use policy::access::words::{Use, Way, Ways};
use schema::Name;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

/// Days of the week as in rules.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// A Monday, in seconds of Unix time.
const MONDAY_S: i64 = 4 * 86_400;

/// Questions by one subject about one entry.
#[derive(Debug)]
pub struct Case {
    /// Who asks.
    pub asker: Asker,
    /// The entry.
    pub entry: Name,
    /// What is asked.
    pub asked: Vec<Asked>,
}

/// A right to one thing of an entry.
#[derive(Debug)]
pub struct Asked {
    /// The right.
    pub right: Right,
    /// The thing as spelled.
    pub spelled: String,
    object: Object,
    value: Option<Vec<u8>>,
}

impl Asked {
    /// The question about the thing.
    pub fn question(&self) -> Question<'_> {
        Question {
            object: self.object,
            value: self.value.as_deref(),
        }
    }
}

/// Questions with the answer that each must have.
#[derive(Debug)]
pub struct Test {
    /// Number of the line, from 1.
    pub line: usize,
    /// The questions.
    pub case: Case,
    /// Whether the right must be given.
    pub allowed: bool,
    /// Name of the rule that must decide; `None` for any.
    pub by: Option<String>,
}

/// Reads tests; what they say about entries goes into a world.
pub struct Reader<'w> {
    world: &'w mut World,
    names: HashMap<String, Name>,
}

impl Reader<'_> {
    /// A reader without names.
    pub fn new(world: &mut World) -> Reader<'_> {
        Reader {
            world,
            names: HashMap::new(),
        }
    }

    /// Reads a file.
    pub fn read(&mut self, path: &Path) -> Result<Vec<Test>, Problem> {
        let text = std::fs::read_to_string(path).map_err(|error| Problem::file(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = path.display().to_string();
        let mut tests = Vec::new();
        for (number, text) in (1..).zip(text.lines()) {
            let mut line = Line::of_file(&file, number, text);
            if line.peek()? == Token::End {
                continue;
            }
            if line.take_word("name")? {
                let word = line.take_text("a word that stands for an entry")?;
                let name = self.entry(&mut line)?;
                self.names.insert(word, name);
            } else if line.take_word("entries")? {
                let file = line.take_text("a file of LDIF")?;
                self.world.read_entries(&folder.join(file))?;
            } else if line.take_word("member")? {
                let member = self.entry(&mut line)?;
                if !line.take_word("of")? {
                    return Err(line.wrong("\"of\" and a group"));
                }
                let group = self.entry(&mut line)?;
                self.world.add_member(member, group);
            } else {
                tests.push(self.test(number, &mut line)?);
            }
            line.expect(&Token::End, "the end of the line")?;
        }
        Ok(tests)
    }

    fn test(&self, number: usize, line: &mut Line<'_>) -> Result<Test, Problem> {
        let case = self.case(line)?;
        let arrow = Token::Word("->".to_owned());
        line.expect(&arrow, "a comma and one more attribute, or \"->\"")?;
        let allowed = line.take_word("allowed")?;
        if !allowed && !line.take_word("refused")? {
            return Err(line.wrong("\"allowed\" or \"refused\""));
        }
        let by = match line.take_word("by")? {
            true => Some(line.take_text("the name of a rule")?),
            false => None,
        };
        Ok(Test {
            line: number,
            case,
            allowed,
            by,
        })
    }

    /// Reads questions without an expected answer.
    pub fn question(&self, line: &mut Line<'_>) -> Result<Case, Problem> {
        let case = self.case(line)?;
        line.expect(&Token::End, "the end of the question")?;
        Ok(case)
    }

    fn case(&self, line: &mut Line<'_>) -> Result<Case, Problem> {
        let asker = self.asker(line)?;
        line.expect(&Token::Comma, "a comma and an operation")?;
        let rights = rights(line)?;
        line.expect(&Token::Comma, "a comma and an entry")?;
        let entry = self.entry(line)?;
        let mut asked = Vec::new();
        line.expect(&Token::Comma, "a comma and an attribute")?;
        loop {
            asked.extend(self.things(&rights, line)?);
            if line.peek()? != Token::Comma {
                break;
            }
            line.take()?;
        }
        Ok(Case {
            asker,
            entry,
            asked,
        })
    }

    /// Reads an attribute, `entry`, `children` or a use, once for each of the rights.
    fn things(&self, rights: &[Right], line: &mut Line<'_>) -> Result<Vec<Asked>, Problem> {
        let Token::Word(word) = line.peek()? else {
            return Err(line.wrong("an attribute, \"entry\" or \"children\""));
        };
        let object = if rights.contains(&Right::Use) {
            let known = Use::ALL.into_iter().find(|it| it.word() == word);
            let known = known.ok_or_else(|| {
                let words: Vec<&str> = Use::ALL.iter().map(|it| it.word()).collect();
                line.wrong(&format!("one of {}", words.join(", ")))
            });
            Object::Use(known?)
        } else {
            match word.as_str() {
                "entry" => Object::Entry,
                "children" => Object::Children,
                name => {
                    let known = self.world.ground().schema.attribute_type(name);
                    let expected = "an attribute of the schema, \"entry\" or \"children\"";
                    Object::Attribute(known.ok_or_else(|| line.wrong(expected))?)
                }
            }
        };
        line.take()?;
        let value = match line.take_word("value")? {
            true => Some(line.take_text("a value")?.into_bytes()),
            false => None,
        };
        let asked = rights.iter().map(|right| Asked {
            right: *right,
            spelled: word.clone(),
            object,
            value: value.clone(),
        });
        Ok(asked.collect())
    }

    /// Reads the name of an entry, or a word that stands for it.
    fn entry(&self, line: &mut Line<'_>) -> Result<Name, Problem> {
        let name = match line.peek()? {
            Token::Word(word) => self.names.get(&word).cloned().ok_or_else(|| {
                line.wrong("a name in quotation marks, or a word that a line \"name\" explains")
            })?,
            Token::Quoted(dn) => {
                let name = self.world.ground().schema.resolve_name(&dn);
                name.map_err(|error| line.problem(&format!("{dn}: {error}")))?
            }
            Token::Comma | Token::End => return Err(line.wrong("the name of an entry")),
        };
        line.take()?;
        Ok(name)
    }

    fn identity(&self, line: &mut Line<'_>) -> Result<Identity, Problem> {
        if line.take_word("anonymous")? {
            return Ok(Identity::Anonymous);
        }
        if line.take_word("administrator")? {
            let schema = &self.world.ground().schema;
            let name = schema.resolve_name("cn=administrator,cn=config");
            return Ok(Identity::Administrator(name.map_err(Problem::failed)?));
        }
        self.entry(line).map(Identity::Entry)
    }

    fn asker(&self, line: &mut Line<'_>) -> Result<Asker, Problem> {
        let acting = self.identity(line)?;
        let mut asker = Asker {
            real: acting.clone(),
            acting,
            origin: Origin::Unknown,
            ways: Ways::of(&[]),
            minute: None,
        };
        let (mut ways, mut is_placed) = (Vec::new(), false);
        loop {
            if line.take_word("via")? {
                ways.extend(self::ways(line)?);
            } else if line.take_word("from")? {
                is_placed = true;
                asker.origin = origin(line)?;
            } else if line.take_word("at")? {
                asker.minute = Some(minute(line)?);
            } else if line.take_word("real")? {
                asker.real = self.identity(line)?;
                ways.push(Way::Proxied);
            } else if line.peek()? == Token::Comma {
                break;
            } else {
                return Err(line.wrong("a comma and an operation, or via, from, at or real"));
            }
        }
        if ways.contains(&Way::Local) && !is_placed {
            asker.origin = Origin::Socket;
        }
        asker.ways = Ways::of(&ways);
        Ok(asker)
    }
}

fn rights(line: &mut Line<'_>) -> Result<Vec<Right>, Problem> {
    let found = match line.peek()? {
        Token::Word(word) => RightWord::find(&word),
        _ => None,
    };
    let rights = match found {
        Some(RightWord::One(right)) => vec![right],
        Some(RightWord::Write) => vec![Right::AddValue, Right::DeleteValue],
        Some(RightWord::None | RightWord::Everything) | None => {
            let words: Vec<&str> = Right::ALL.iter().map(|it| it.word()).collect();
            return Err(line.wrong(&format!("write, or one of {}", words.join(", "))));
        }
    };
    line.take()?;
    Ok(rights)
}

fn ways(line: &mut Line<'_>) -> Result<Vec<Way>, Problem> {
    let mut ways = Vec::new();
    while let Token::Word(word) = line.peek()?
        && let Some(way) = Way::ALL.into_iter().find(|it| it.word() == word)
    {
        line.take()?;
        ways.push(way);
    }
    match ways.is_empty() {
        true => {
            let words: Vec<&str> = Way::ALL.iter().map(|it| it.word()).collect();
            Err(line.wrong(&format!("one of {}", words.join(", "))))
        }
        false => Ok(ways),
    }
}

/// Where a client is: an address, or `local` for a Unix socket of this machine.
fn origin(line: &mut Line<'_>) -> Result<Origin, Problem> {
    if line.take_word("local")? {
        return Ok(Origin::Socket);
    }
    let address: Option<IpAddr> = match line.peek()? {
        Token::Word(word) => word.parse().ok(),
        _ => None,
    };
    let address = address.ok_or_else(|| line.wrong("an address, or \"local\""))?;
    line.take()?;
    Ok(Origin::Address(address))
}

/// A time of the week in UTC: `"Mon 08:30"`.
fn minute(line: &mut Line<'_>) -> Result<WeekMinute, Problem> {
    let found = match line.peek()? {
        Token::Quoted(text) => seconds_of_week(&text),
        _ => None,
    };
    let seconds = found.ok_or_else(|| line.wrong("a time of the week such as \"Mon 08:30\""))?;
    line.take()?;
    Ok(WeekMinute::at(MONDAY_S + seconds))
}

fn seconds_of_week(text: &str) -> Option<i64> {
    let (day, time) = text.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let day = DAYS.iter().position(|it| *it == day)?;
    let hour: i64 = hour.parse().ok().filter(|it| (0..24).contains(it))?;
    let minute: i64 = minute.parse().ok().filter(|it| (0..60).contains(it))?;
    Some(day as i64 * 86_400 + hour * 3_600 + minute * 60)
}
