//! What is not known, of subjects and of values, and what is denied of values.

use super::cases::{Facts, Thing};
use super::*;
use crate::access::facts::{Group, Origin};
use crate::access::parse::parse;
use crate::access::words::Ways;
use crate::secrets::Secrets;
use schema::{DefinitionKind, Filter, Name, Schema};

/// A subject of whom nothing is known has no right by what a clause says of it, and loses every
/// right that one takes.
#[test]
fn unknown_subjects_are_neither_this_nor_that() {
    let facts = Facts(Schema::standard());
    let secrets = Secrets::of(&facts.0, &[]);
    let entry = Thing(&facts, facts.0.resolve_name("uid=ada,dc=a").unwrap());
    let cn = Object::Attribute(facts.0.attribute_type("cn").unwrap());
    let given = |clauses: &str| {
        let text = format!("rule a\non everything\n{clauses}");
        let set = RuleSet::compile(&facts.0, &secrets, &parse(&text).unwrap().rules).unwrap();
        let asker = Asker {
            acting: Identity::Unknown,
            real: Identity::Unknown,
            origin: Origin::Unknown,
            ways: Ways::UNKNOWN,
            minute: None,
        };
        let subject = set.of_subject(asker, &facts);
        let here = subject.region(entry.1.clone(), protocol::Scope::BaseObject);
        let ruling = subject.decide(&entry, Question::about(cn), Right::Read);
        let known = here.answer(Right::Read, cn) == Answer::Yes;
        assert_eq!(ruling.allowed, known, "{clauses}");
        ruling.allowed
    };
    assert!(given("let anyone read"));
    for subject in [
        "anonymous",
        "users",
        "self",
        "administrator",
        "entry \"dc=a\"",
        "subtree \"\"",
        "pattern \"**\"",
        "group \"cn=g\"",
        "manager",
        "manager of parent",
        "having (cn=a)",
        "from 10.0.0.0/8",
        "from local",
        "via tls",
        "via proxied",
        "at \"Mon\"",
        "real users",
    ] {
        assert!(!given(&format!("let {subject} read")), "{subject}");
        assert!(!given(&format!("let not {subject} read")), "{subject}");
        let takes = format!("let {subject} none\nlet anyone read");
        assert!(!given(&takes), "{subject}");
        let takes = format!("deny {subject} read then gather\nlet anyone read then gather");
        assert!(!given(&takes), "{subject}");
    }
}

/// Values are compared by the equality rule of the attribute that is asked about; a value that has
/// no normal form may be any.
#[test]
fn values_are_those_of_the_attribute_asked_about() {
    let definition = "( 1.3.6.1.4.1.4203.666.1.78 NAME 'exactName' SUP name \
                       EQUALITY caseExactMatch )";
    let definition = schema::parse_definition(DefinitionKind::AttributeType, definition).unwrap();
    let facts = Facts(Schema::standard().extended(&[definition]).unwrap());
    let secrets = Secrets::of(&facts.0, &[]);
    let entry = Thing(&facts, facts.0.resolve_name("uid=ada,dc=a").unwrap());
    let given = |clauses: &str, attribute: &str, value: &[u8]| {
        let rules = parse(&format!("rule a\non everything\n{clauses}"))
            .unwrap()
            .rules;
        let set = RuleSet::compile(&facts.0, &secrets, &rules).unwrap();
        let asker = Asker {
            acting: Identity::Entry(entry.1.clone()),
            real: Identity::Anonymous,
            origin: Origin::Socket,
            ways: Ways::of(&[]),
            minute: None,
        };
        let object = Object::Attribute(facts.0.attribute_type(attribute).unwrap());
        let value = Some(value);
        let question = Question { object, value };
        let subject = set.of_subject(asker, &facts);
        subject.decide(&entry, question, Right::AddValue).allowed
    };
    let gives = "for name value \"Ada\"\nlet anyone add-value";
    assert!(given(gives, "cn", b"ADA") && given(gives, "exactName", b"Ada"));
    assert!(!given(gives, "exactName", b"ADA"));
    let takes = "let anyone add-value then continue\ndeny anyone add-value name value \"Ada\"";
    assert!(!given(takes, "cn", b"ada") && given(takes, "cn", b"bob"));
    assert!(given(takes, "exactName", b"ADA") && !given(takes, "exactName", b"Ada"));
    let gives = "for member value \"dc=a\", owner value self\nlet anyone add-value";
    assert!(given(gives, "member", b"DC=A") && given(gives, "owner", b"uid=ada,dc=a"));
    assert!(!given(gives, "member", b"?") && !given(gives, "owner", b"?"));
    let takes = "let anyone add-value then continue\n\
                 deny anyone add-value member value \"dc=a\", owner value self";
    assert!(given(takes, "member", b"dc=b") && given(takes, "owner", b"dc=b"));
    assert!(!given(takes, "member", b"?") && !given(takes, "owner", b"?"));
}

/// Who may not add or delete values may not do so with the own name.
#[test]
fn values_that_are_denied_include_the_own_name() {
    let facts = Facts(Schema::standard());
    let secrets = Secrets::of(&facts.0, &[]);
    let entry = Thing(&facts, facts.0.resolve_name("cn=g,dc=a").unwrap());
    let object = Object::Attribute(facts.0.attribute_type("member").unwrap());
    let given = |denied: &str| {
        let text = format!(
            "rule a\non everything\ndeny anyone {denied} then gather\n\
             let anyone self-value, read then gather"
        );
        let set = RuleSet::compile(&facts.0, &secrets, &parse(&text).unwrap().rules).unwrap();
        let own = Identity::Entry(facts.0.resolve_name("uid=ada,dc=a").unwrap());
        let asker = Asker {
            acting: own.clone(),
            real: own,
            origin: Origin::Socket,
            ways: Ways::of(&[]),
            minute: None,
        };
        let value = Some(&b"uid=ada,dc=a"[..]);
        let question = Question { object, value };
        let subject = set.of_subject(asker, &facts);
        [Right::AddValue, Right::DeleteValue].map(|it| subject.decide(&entry, question, it).allowed)
    };
    assert_eq!(given("search"), [true, true]);
    for denied in ["add-value", "delete-value", "self-value", "write"] {
        assert_eq!(given(denied), [false, false], "{denied}");
    }
}

/// What callers keep is shared by threads, and a group is asked about once for a subject.
#[test]
fn subjects_are_shared_and_ask_about_a_group_once() {
    fn is_shared<T: Send + Sync + Clone + 'static>(value: &T) -> T {
        value.clone()
    }
    struct Counting(std::cell::Cell<usize>);
    impl SubjectFacts for Counting {
        fn matches(&self, _: &Name, _: &Filter) -> Truth {
            self.0.set(self.0.get() + 1);
            Truth::True
        }
        fn is_member(&self, _: &Name, _: &Group) -> Truth {
            self.0.set(self.0.get() + 1);
            Truth::True
        }
    }
    let schema = Schema::standard();
    let clause = "let not group \"cn=g\" or not having (cn=a) or not real users read\n";
    let text = format!("rule a\non everything\n{}", clause.repeat(50));
    let rules = parse(&text).unwrap().rules;
    let set = RuleSet::compile(&schema, &Secrets::of(&schema, &[]), &rules).unwrap();
    let own = Identity::Entry(schema.resolve_name("uid=ada,dc=a").unwrap());
    let asker = Asker {
        acting: own.clone(),
        real: own,
        origin: Origin::from(None),
        ways: Ways::of(&[Way::Local]),
        minute: None,
    };
    let facts = Counting(std::cell::Cell::new(0));
    let subject = is_shared(&set).of_subject(asker, &facts);
    assert_eq!(facts.0.get(), 2, "one group and one filter");
    let region = is_shared(&subject).region(Name::root(), protocol::Scope::WholeSubtree);
    is_shared(&region.shown(Right::Read));
    is_shared(&region);
    let other = Identity::Anonymous;
    let proxied = subject.acting_as(other.clone(), &facts);
    assert_eq!(proxied.asker().acting, other);
    assert_eq!(proxied.asker().real, subject.asker().real);
    assert_eq!(proxied.asker().ways.truth(Way::Proxied), Truth::True);
    assert_eq!(subject.asker().ways.truth(Way::Proxied), Truth::False);
}
