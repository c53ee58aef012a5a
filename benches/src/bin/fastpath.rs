//! The fast path without sockets: one worker executes the same message again and again.
//!
//! Run under valgrind by `benches/gate`, which counts instructions: they do not depend on what
//! else the machine does, so they can gate changes where time cannot.
//!
//! `fastpath prepare DIR` makes directories of 1,000 people, one for each set of access rules;
//! `fastpath run DIR SCENARIO TIMES` executes a scenario; `fastpath scenarios` lists them.

use directory::{Directory, InitOptions, Options, Peer};
use local::LocalClient;
use pando_benches::directives::{GROUPS, imported};
use policy::Secrets;
use policy::access::import::slapd;
use policy::access::rules::Rule;
use policy::access::sets;
use protocol::{
    AddRequest, Authentication, BindRequest, CompareRequest, Filter, OwnedAttribute, Request,
    ResultCode, Scope, SearchRequest, frame, write_request,
};
use schema::Schema;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

const SUFFIX: &str = "dc=example,dc=com";
const PEOPLE: u64 = 1_000;
/// `{SSHA}` of [`GIVEN`].
const PASSWORD: &str = "{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3";
/// The password that people bind with.
const GIVEN: &[u8] = b"secret";

/// Access rules of a directory.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// The built-in ones.
    BuiltIn,
    /// The set of a new directory.
    Default,
    /// 200 directives of slapd, imported.
    Imported,
}

impl Access {
    const ALL: [Access; 3] = [Access::BuiltIn, Access::Default, Access::Imported];

    /// Folder of the directory.
    fn folder(self) -> &'static str {
        match self {
            Access::BuiltIn => "builtin",
            Access::Default => "default",
            Access::Imported => "imported",
        }
    }

    fn rules(self) -> Vec<Rule> {
        match self {
            Access::BuiltIn => Vec::new(),
            Access::Default => sets::default(),
            Access::Imported => {
                let schema = Schema::standard();
                let secrets = Secrets::of(&schema, &[]);
                slapd::of_conf(&schema, &secrets, &imported(SUFFIX, group_of)).rules
            }
        }
    }
}

/// One kind of request, made for a given person.
struct Scenario {
    name: &'static str,
    access: Access,
    /// Whether a person binds before.
    binds: bool,
    write: fn(person: u64, out: &mut Vec<u8>),
    /// The result code of the answer: a refusal would be counted as gladly.
    answer: ResultCode,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "search_equality_name_only",
        access: Access::BuiltIn,
        binds: false,
        write: |n, out| search(n, &["1.1"], out),
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_equality_all_attributes",
        access: Access::BuiltIn,
        binds: false,
        write: |n, out| search(n, &[], out),
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_base_all_attributes",
        access: Access::BuiltIn,
        binds: false,
        write: base_search,
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "compare",
        access: Access::BuiltIn,
        binds: false,
        write: compare,
        answer: ResultCode::COMPARE_TRUE,
    },
    Scenario {
        name: "bind_ssha",
        access: Access::BuiltIn,
        binds: false,
        write: bind,
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_equality_as_user",
        access: Access::BuiltIn,
        binds: true,
        write: |n, out| search(n, &[], out),
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "compare_as_user",
        access: Access::BuiltIn,
        binds: true,
        write: compare,
        answer: ResultCode::COMPARE_TRUE,
    },
    Scenario {
        name: "search_equality_default_rules",
        access: Access::Default,
        binds: true,
        write: |n, out| search(n, &[], out),
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_base_default_rules",
        access: Access::Default,
        binds: true,
        write: base_search,
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "compare_default_rules",
        access: Access::Default,
        binds: true,
        write: compare,
        answer: ResultCode::COMPARE_TRUE,
    },
    Scenario {
        name: "bind_ssha_default_rules",
        access: Access::Default,
        binds: false,
        write: bind,
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_equality_imported_rules",
        access: Access::Imported,
        binds: true,
        write: |n, out| search(n, &[], out),
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "search_base_imported_rules",
        access: Access::Imported,
        binds: true,
        write: base_search,
        answer: ResultCode::SUCCESS,
    },
    Scenario {
        name: "compare_imported_rules",
        access: Access::Imported,
        binds: true,
        write: compare,
        answer: ResultCode::COMPARE_TRUE,
    },
    Scenario {
        name: "bind_ssha_imported_rules",
        access: Access::Imported,
        binds: false,
        write: bind,
        answer: ResultCode::SUCCESS,
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["prepare", dir] => prepare(Path::new(dir)),
        ["run", dir, scenario, times] => run(Path::new(dir), scenario, times.parse()?),
        ["scenarios"] => {
            for scenario in SCENARIOS {
                std::io::Write::write_fmt(
                    &mut std::io::stdout(),
                    format_args!("{}\n", scenario.name),
                )?;
            }
            Ok(())
        }
        _ => Err("usage: fastpath prepare DIR | run DIR SCENARIO TIMES | scenarios".into()),
    }
}

/// Maximum time that the writer or a hashing thread may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Executes the one message in `bytes`, which is framed as a connection does it.
fn execute(
    client: &mut LocalClient,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    let length = frame(bytes, 1 << 20)?.ok_or("a whole message")?;
    let message = bytes.get(..length).ok_or("a whole message")?;
    Ok(client.execute(message, out)?)
}

fn prepare(dir: &Path) -> Result<(), Box<dyn Error>> {
    for access in Access::ALL {
        prepare_with(&dir.join(access.folder()), access)?;
    }
    Ok(())
}

fn prepare_with(dir: &Path, access: Access) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(dir)?;
    replica::create(dir, &InitOptions::new(SUFFIX, PASSWORD.to_owned()))?;
    let directory = Directory::open(dir, &Options::default())?;
    let mut client = LocalClient::as_owner(&directory, PATIENCE)?;
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    for person in 1..=PEOPLE {
        bytes.clear();
        add(person, &mut bytes);
        execute(&mut client, &bytes, &mut out)?;
    }
    let mut put = |entry: &str, values: &[(&str, &str)]| -> Result<(), Box<dyn Error>> {
        bytes.clear();
        out.clear();
        write_add(entry, values, &mut bytes);
        execute(&mut client, &bytes, &mut out)?;
        match out.ends_with(&SUCCEEDED) {
            true => Ok(()),
            false => Err(format!("{entry} was not added: {out:02x?}").into()),
        }
    };
    if access == Access::Imported {
        for n in 0..GROUPS {
            let member = name_of(1 + n as u64);
            put(
                &group_of(n),
                &[("objectClass", "groupOfNames"), ("member", &member)],
            )?;
        }
    }
    for (at, rule) in access.rules().iter().enumerate() {
        if at == 0 {
            put(RULES, &[("objectClass", "pandoConfig")])?;
        }
        let values = [
            ("objectClass", "pandoAccessRule"),
            ("pandoAccessText", &rule.to_string()),
            ("pandoAccessOrder", &at.to_string()),
        ];
        put(&format!("cn={},{RULES}", rule.name), &values)?;
    }
    directory.shutdown();
    Ok(())
}

fn run(dir: &Path, name: &str, times: u64) -> Result<(), Box<dyn Error>> {
    let known = SCENARIOS.iter().find(|it| it.name == name);
    let scenario = known.ok_or_else(|| format!("no scenario {name}"))?;
    let dir = dir.join(scenario.access.folder());
    let directory = Directory::open(&dir, &Options::default())?;
    let mut client = LocalClient::open(&directory, Peer::default(), PATIENCE)?;
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    if scenario.binds {
        bind(PEOPLE, &mut bytes);
        execute(&mut client, &bytes, &mut out)?;
    }
    for turn in 0..times {
        bytes.clear();
        out.clear();
        (scenario.write)(1 + turn % PEOPLE, &mut bytes);
        execute(&mut client, &bytes, &mut out)?;
    }
    directory.shutdown();
    let answer = scenario.answer;
    // The last answer ends in a result of this code without a name or a message.
    if !out.ends_with(&[0x0a, 1, answer.0 as u8, 4, 0, 4, 0]) {
        return Err(format!("{name}: expected an answer of {answer:?}, got {out:02x?}").into());
    }
    Ok(())
}

/// The end of an answer of success without a name or a message.
const SUCCEEDED: [u8; 7] = [0x0a, 1, 0, 4, 0, 4, 0];
/// The container of access rules.
const RULES: &str = "cn=access,cn=config";

fn group_of(n: usize) -> String {
    format!("cn=group{n},{SUFFIX}")
}

fn name_of(person: u64) -> String {
    format!("uid=user.{person},{SUFFIX}")
}

fn add(person: u64, out: &mut Vec<u8>) {
    let uid = format!("user.{person}");
    let mail = format!("{uid}@example.com");
    let values: [(&str, &str); 6] = [
        ("objectClass", "inetOrgPerson"),
        ("uid", &uid),
        ("cn", &uid),
        ("sn", "Person"),
        ("mail", &mail),
        ("userPassword", PASSWORD),
    ];
    write_add(&name_of(person), &values, out);
}

fn write_add(entry: &str, values: &[(&str, &str)], out: &mut Vec<u8>) {
    let attributes = values.iter();
    let attributes = attributes.map(|(attribute, value)| OwnedAttribute::new(attribute, [*value]));
    let attributes: Vec<OwnedAttribute> = attributes.collect();
    let attributes = attributes.iter().map(OwnedAttribute::as_partial).collect();
    write_request(out, 1, &Request::Add(AddRequest { entry, attributes }), &[]);
}

fn search(person: u64, attributes: &[&str], out: &mut Vec<u8>) {
    let value = format!("user.{person}");
    let filter = Filter::Equality {
        attribute: "uid",
        value: value.as_bytes(),
    };
    write_search(SUFFIX, Scope::WholeSubtree, filter, attributes, out);
}

fn base_search(person: u64, out: &mut Vec<u8>) {
    let base = name_of(person);
    write_search(
        &base,
        Scope::BaseObject,
        Filter::Present("objectClass"),
        &[],
        out,
    );
}

fn write_search(
    base: &str,
    scope: Scope,
    filter: Filter<'_>,
    attributes: &[&str],
    out: &mut Vec<u8>,
) {
    let request = SearchRequest {
        attributes: attributes.to_vec(),
        ..SearchRequest::new(base, scope, filter)
    };
    write_request(out, 1, &Request::Search(request), &[]);
}

fn compare(person: u64, out: &mut Vec<u8>) {
    let entry = name_of(person);
    let request = CompareRequest {
        entry: &entry,
        attribute: "sn",
        value: b"person",
    };
    write_request(out, 1, &Request::Compare(request), &[]);
}

fn bind(person: u64, out: &mut Vec<u8>) {
    let name = name_of(person);
    let authentication = Authentication::Simple(GIVEN);
    let request = BindRequest {
        version: 3,
        name: &name,
        authentication,
    };
    write_request(out, 1, &Request::Bind(request), &[]);
}
