//! slapd's own evaluation of its rules, written down from its source (`slap_access_allowed` and
//! `slap_acl_mask` of servers/slapd/acl.c), against the imported rules on random directives.

use super::*;
use crate::access::compile::RuleSet;
use crate::access::decide::Question;
use crate::access::decide::tests::asker;
use crate::access::facts::{Asker, Group, Identity, SubjectFacts};
use crate::access::model::{Entry, World};
use crate::access::objects::Object;
use crate::access::print::print;
use crate::access::right::Right;
use crate::access::testing::{Dice, ENTRIES};
use schema::Truth;

/// Random configurations of the test.
const CONFIGURATIONS: u64 = 3000;

const LETTERS: &str = "dxcsraz";

struct Directive {
    target: (&'static str, &'static str),
    attributes: Vec<&'static str>,
    clauses: Vec<By>,
}

struct By {
    who: &'static str,
    access: &'static str,
    control: &'static str,
}

fn directive(dice: &mut Dice) -> Directive {
    let attributes = ["cn", "mail", "userPassword", "name", "entry", "children"];
    Directive {
        target: dice.one(&[
            ("*", ""),
            ("dn.subtree", "ou=People,dc=example"),
            ("dn.base", "uid=ada,ou=People,dc=example"),
            ("dn.one", "ou=People,dc=example"),
            ("dn.children", "dc=example"),
        ]),
        attributes: match dice.once_in(2) {
            true => Vec::new(),
            false => (0..=dice.below(2)).map(|_| dice.one(&attributes)).collect(),
        },
        clauses: (0..=dice.below(3)).map(|_| by(dice)).collect(),
    }
}

fn by(dice: &mut Dice) -> By {
    By {
        who: dice.one(&[
            "*",
            "anonymous",
            "users",
            "self",
            "dn.exact=uid=bob,ou=People,dc=example",
            "dn.children=ou=People,dc=example",
            "group.exact=cn=staff,ou=Groups,dc=example",
            "set=\"user & [cn=x]\"",
        ]),
        access: dice.one(&[
            "", "none", "disclose", "auth", "compare", "search", "read", "write", "manage", "+r",
            "-r", "=rs", "+w", "=a", "-z", "-dcsr", "-w", "=0",
        ]),
        control: dice.one(&["", "", "", "stop", "continue", "break"]),
    }
}

fn text(directives: &[Directive]) -> String {
    let mut text = String::new();
    for it in directives {
        text += match it.target {
            (all, "") => format!("access to {all}"),
            (style, dn) => format!("access to {style}=\"{dn}\""),
        }
        .as_str();
        if !it.attributes.is_empty() {
            text += &format!(" attrs={}", it.attributes.join(","));
        }
        for by in &it.clauses {
            text += &format!("\n  by {} {} {}", by.who, by.access, by.control);
        }
        text.push('\n');
    }
    text
}

/// One question to slapd.
struct Slapd<'s> {
    world: &'s World<'s>,
    asker: &'s Asker,
    entry: &'s Entry<'s>,
    object: Object,
    set: bool,
}

impl Slapd<'_> {
    /// Returns the letters of the privileges that slapd gives.
    fn letters(&self, directives: &[Directive]) -> String {
        let mut mask = String::new();
        for directive in directives.iter().filter(|it| self.is_about(it)) {
            match self.mask(&directive.clauses, &mut mask) {
                "break" => (),
                _ => return mask,
            }
        }
        String::new()
    }

    fn mask(&self, clauses: &[By], mask: &mut String) -> &'static str {
        for by in clauses.iter().filter(|it| self.is_for(it.who)) {
            let level = |word| match word {
                "none" => "",
                "disclose" => "d",
                "auth" => "dx",
                "compare" => "dxc",
                "search" => "dxcs",
                "read" => "dxcsr",
                _ => "dxcsraz",
            };
            let letters = |it: &str| it.replace('w', "az").replace('0', "");
            match by.access.chars().next() {
                None => (),
                Some('+') => mask.push_str(&letters(&by.access[1..])),
                Some('-') => {
                    let gone = letters(&by.access[1..]);
                    mask.retain(|it| !gone.contains(it));
                }
                Some('=') => *mask = letters(&by.access[1..]),
                Some(_) => *mask = level(by.access).to_owned(),
            }
            match by.control {
                "continue" => (),
                "break" => return "break",
                _ => return "stop",
            }
        }
        mask.clear();
        "stop"
    }

    fn is_about(&self, directive: &Directive) -> bool {
        let schema = self.world.schema;
        let (style, dn) = directive.target;
        let (base, name) = (schema.resolve_name(dn).unwrap(), &self.entry.name);
        let steps = name.depth().wrapping_sub(base.depth());
        let entry = match style {
            "*" => true,
            _ if !name.is_within(&base) => false,
            "dn.base" => steps == 0,
            "dn.one" => steps == 1,
            "dn.children" => steps > 0,
            _ => true,
        };
        let mut attributes = directive.attributes.iter();
        let attribute = attributes.any(|it| match (self.object, *it) {
            (Object::Entry, word) => word == "entry",
            (Object::Children, word) => word == "children",
            (Object::Attribute(id), word) => schema
                .attribute_type(word)
                .is_some_and(|it| schema.is_subtype(id, it)),
            (Object::Use(_), _) => false,
        });
        entry && (attribute || directive.attributes.is_empty())
    }

    fn is_for(&self, who: &str) -> bool {
        let schema = self.world.schema;
        let Some(name) = self.asker.acting.name() else {
            return matches!(who, "*" | "anonymous") || (who.starts_with("set") && self.set);
        };
        let resolve = |dn: &str| schema.resolve_name(dn).unwrap();
        match who.split_once('=') {
            None => match who {
                "self" => *name == self.entry.name,
                other => matches!(other, "*" | "users"),
            },
            Some(("dn.exact", dn)) => *name == resolve(dn),
            Some(("dn.children", dn)) => *name != resolve(dn) && name.is_within(&resolve(dn)),
            Some(("group.exact", dn)) => {
                let by = schema.attribute_type("member");
                let name_of_group = resolve(dn);
                let group = Group {
                    name: name_of_group,
                    by,
                };
                self.world.is_member(name, &group) == Truth::True
            }
            _ => self.set,
        }
    }
}

/// Returns the rights that need these letters, each for one kind of object.
fn rights(object: Object) -> Vec<(Right, &'static str)> {
    use Right::*;
    let mut rights = vec![(Disclose, "d"), (Search, "s"), (Read, "r")];
    rights.extend(match object {
        Object::Entry => vec![(Add, "a"), (Delete, "z"), (Rename, "az")],
        Object::Children => vec![(Add, "a"), (MoveIn, "a"), (MoveOut, "z"), (Rename, "az")],
        _ => vec![
            (Authenticate, "x"),
            (Compare, "c"),
            (AddValue, "a"),
            (DeleteValue, "z"),
        ],
    });
    rights
}

#[test]
fn nothing_is_widened() {
    let schema = Schema::standard();
    let secrets = Secrets::of(&schema, &[]);
    let attributes =
        ["cn", "mail", "userPassword", "sn"].map(|it| schema.attribute_type(it).unwrap());
    let parts = [Object::Entry, Object::Children];
    let objects: Vec<Object> = attributes
        .map(Object::Attribute)
        .into_iter()
        .chain(parts)
        .collect();
    let (mut theirs, mut ours) = (0, 0);
    for seed in 0..CONFIGURATIONS {
        let dice = &mut Dice(seed);
        let directives: Vec<Directive> = (0..=dice.below(3)).map(|_| directive(dice)).collect();
        let conf = text(&directives);
        let import = of_conf(&schema, &secrets, &conf);
        let set = RuleSet::compile(&schema, &secrets, &import.rules).unwrap();
        let world = World {
            schema: &schema,
            secrets: &secrets,
            seed,
        };
        let mut asker = asker(dice, &schema);
        asker.acting = match asker.acting {
            Identity::Administrator(name) => Identity::Entry(name),
            Identity::Unknown => Identity::Anonymous,
            other => other,
        };
        let subject = set.of_subject(asker.clone(), &world);
        let set_matches = dice.once_in(2);
        for dn in &ENTRIES[..7] {
            let entry = Entry {
                world: &world,
                name: schema.resolve_name(dn).unwrap(),
            };
            for object in &objects {
                let slapd = Slapd {
                    world: &world,
                    asker: &asker,
                    entry: &entry,
                    object: *object,
                    set: set_matches,
                };
                let letters = slapd.letters(&directives);
                assert!(letters.chars().all(|it| LETTERS.contains(it)), "{letters}");
                let found = subject.rights(&entry, Question::about(*object));
                for (right, needed) in rights(*object) {
                    let there = needed.chars().all(|it| letters.contains(it));
                    let here = found.contains(right);
                    theirs += usize::from(there);
                    ours += usize::from(here);
                    assert!(
                        there || !here,
                        "seed {seed}: {right} to {object:?} of {dn} by {asker:?}\n{conf}\n{}",
                        print(&import.rules)
                    );
                }
            }
        }
    }
    // Most must be carried: a set that gives nothing widens nothing either.
    assert!(ours * 10 > theirs * 7, "{ours} of {theirs} given here, too");
}
