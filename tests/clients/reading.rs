//! The tools `ldapsearch` and `ldapcompare`.

use kit::tools::Tools;
use kit::{SUFFIX, Subject, people};

use super::{ADA, EDSGER, GRACE, code, names, read};

#[test]
fn scopes() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let count = |args: &[&str]| {
        let mut all = args.to_vec();
        all.extend(["(objectClass=*)", "1.1"]);
        tools.search(&all).expect(code::SUCCESS).entries().len()
    };
    assert_eq!(count(&["-b", SUFFIX, "-s", "base"]), 1);
    assert_eq!(count(&["-b", SUFFIX, "-s", "one"]), 2);
    assert_eq!(count(&["-b", SUFFIX, "-s", "sub"]), 6);
    assert_eq!(count(&["-b", SUFFIX, "-s", "children"]), 5);
    assert_eq!(count(&["-b", ADA, "-s", "sub"]), 1);
    assert_eq!(count(&["-b", ADA, "-s", "one"]), 0);
}

#[test]
fn filters_of_every_kind() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let check = |filter: &str, expected: &[&str]| {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names(&tools, filter), expected, "{filter}");
    };
    check("(uid=ADA)", &[ADA]);
    check("(uid=nobody)", &[]);
    check("(&(objectClass=person)(!(uid=ada)))", &[GRACE, EDSGER]);
    check("(|(uid=ada)(uid=grace))", &[ADA, GRACE]);
    check("(cn=a*)", &[ADA]);
    check("(cn=*d*)", &[ADA, EDSGER]);
    check("(description=the*prog*mer)", &[EDSGER]);
    check("(description=*first*)", &[ADA]);
    check("(givenName=*)", &[ADA, GRACE, EDSGER]);
    check("(description=*)", &[ADA, EDSGER]);
    check("(cn:caseExactMatch:=ada)", &[ADA]);
    check("(cn:caseExactMatch:=Ada)", &[]);
    check("(:caseExactMatch:=ada)", &[ADA]);
    check(
        "(&(objectClass=person)(ou:dn:=people))",
        &[ADA, GRACE, EDSGER],
    );
    // RFC 4511 §4.5.1.7: Undefined is not True, and neither is its negation.
    check("(noSuchAttribute=1)", &[]);
    check("(!(noSuchAttribute=1))", &[]);
    check("(|(noSuchAttribute=1)(uid=ada))", &[ADA]);
    // A supertype covers its subtypes.
    check("(name=Ada)", &[ADA]);
    // RFC 4526.
    check(
        "(&)",
        &names(&tools, "(objectClass=*)")
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    check("(|)", &[]);
}

#[test]
fn order_in_filters() {
    let subject = Subject::with_people();
    let mut extra = people::person("donald");
    extra.push("uidNumber", b"1938".to_vec());
    extra.push("gidNumber", b"10".to_vec());
    extra.push("homeDirectory", b"/home/donald".to_vec());
    extra.push("objectClass", b"posixAccount".to_vec());
    subject.add(&[extra]);
    let tools = subject.tools();
    assert_eq!(names(&tools, "(createTimestamp>=20200101000000Z)").len(), 7);
    assert_eq!(names(&tools, "(createTimestamp<=20200101000000Z)").len(), 0);
    assert_eq!(names(&tools, "(uidNumber=1938)").len(), 1);
    assert_eq!(names(&tools, "(uidNumber=01938)").len(), 0);
}

#[test]
fn attribute_selection() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let read = |select: &[&str]| {
        let mut all = vec!["-b", ADA, "-s", "base", "(objectClass=*)"];
        all.extend(select);
        tools.search(&all).expect(code::SUCCESS).entries().remove(0)
    };
    let attributes = |select: &[&str]| {
        let mut names: Vec<String> = read(select)
            .attributes
            .into_iter()
            .map(|(name, _)| name.to_lowercase())
            .collect();
        names.sort();
        names
    };
    assert_eq!(attributes(&["mail", "SN"]), ["mail", "sn"]);
    assert_eq!(attributes(&["1.1"]), [""; 0]);
    assert_eq!(attributes(&["noSuchAttribute", "mail"]), ["mail"]);
    // RFC 4511 §4.5.1.8: subtypes of the requested types are returned.
    assert_eq!(attributes(&["name"]), ["cn", "givenname", "sn"]);
    // RFC 4529.
    assert_eq!(
        attributes(&["@person"]),
        ["cn", "description", "objectclass", "sn", "userpassword"]
    );
    let all = attributes(&["*"]);
    assert!(
        all.contains(&"mail".to_owned()) && !all.contains(&"entryuuid".to_owned()),
        "{all:?}"
    );
    let operational = attributes(&["+"]);
    for name in [
        "entryuuid",
        "createtimestamp",
        "creatorsname",
        "modifytimestamp",
        "entrydn",
    ] {
        assert!(
            operational.contains(&name.to_owned()),
            "{name} in {operational:?}"
        );
    }
    assert!(!operational.contains(&"mail".to_owned()));
    assert_eq!(
        read(&["entryDN"]).text("entryDN").to_lowercase(),
        ADA.to_lowercase()
    );
    let types_only = tools
        .search(&["-A", "-b", ADA, "-s", "base"])
        .expect(code::SUCCESS);
    assert!(!types_only.out.contains("Lovelace") && types_only.out.contains("mail:"));
}

#[test]
fn searches_that_fail() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let missing = "uid=nobody,ou=People,dc=example,dc=com";
    tools
        .search(&["-b", missing])
        .expect(code::NO_SUCH_OBJECT)
        .says("Matched DN: ou=People,dc=example,dc=com");
    tools
        .search(&["-b", "this is no name"])
        .expect(code::INVALID_DN_SYNTAX);
    let limited = tools
        .search(&["-b", SUFFIX, "-z", "2"])
        .expect(code::SIZE_LIMIT_EXCEEDED);
    assert_eq!(limited.entries().len(), 2);
    let anonymous = Tools::anonymous(&subject.url());
    let entry = read(&anonymous, ADA);
    assert!(
        !entry.has("userPassword"),
        "passwords are for nobody to read"
    );
    tools
        .run(
            "ldapsearch",
            &["-b", SUFFIX, "-e", "!1.2.3.4.5.6.7.8.9"],
            "",
        )
        .expect(code::UNAVAILABLE_CRITICAL_EXTENSION);
}

#[test]
fn pages() {
    let subject = Subject::with_people();
    let many: Vec<_> = (0..250)
        .map(|number| people::person(&format!("p{number}")))
        .collect();
    subject.add(&many);
    let answer = subject
        .tools()
        .search(&[
            "-b",
            SUFFIX,
            "-E",
            "pr=100/noprompt",
            "(objectClass=person)",
            "uid",
        ])
        .expect(code::SUCCESS);
    let found = kit::ldif::content(&kit::ldif::parse(&without_comments(&answer.out)));
    assert_eq!(found.len(), 253);
}

/// `ldapsearch -LLL` still prints a comment line for each page.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn root_dse_and_subschema() {
    let subject = Subject::from_env();
    let anonymous = Tools::anonymous(&subject.url());
    let args = ["-b", "", "-s", "base", "(objectClass=*)", "*", "+"];
    let root = anonymous
        .search(&args)
        .expect(code::SUCCESS)
        .entries()
        .remove(0);
    assert!(root.texts("namingContexts").contains(&SUFFIX.to_owned()));
    assert!(root.texts("supportedLDAPVersion").contains(&"3".to_owned()));
    let subschema = root.text("subschemaSubentry");
    let args = [
        "-b",
        &subschema,
        "-s",
        "base",
        "(objectClass=subschema)",
        "+",
    ];
    let schema = anonymous
        .search(&args)
        .expect(code::SUCCESS)
        .entries()
        .remove(0);
    let classes = schema.texts("objectClasses");
    assert!(
        classes
            .iter()
            .any(|class| class.contains("'inetOrgPerson'"))
    );
    assert!(schema.values("attributeTypes").len() > 100);
}

#[test]
fn compare() {
    let subject = Subject::with_people();
    let anonymous = Tools::anonymous(&subject.url());
    let compare =
        |name: &str, assertion: &str| anonymous.run("ldapcompare", &[name, assertion], "").status;
    assert_eq!(compare(ADA, "cn:ADA"), code::COMPARE_TRUE);
    assert_eq!(compare(ADA, "cn:grace"), code::COMPARE_FALSE);
    assert_eq!(
        compare(ADA, "description::V3JvdGUgdGhlIGZpcnN0IHByb2dyYW0="),
        code::COMPARE_TRUE
    );
    assert_eq!(
        compare(GRACE, "description:anything"),
        code::NO_SUCH_ATTRIBUTE
    );
    assert_eq!(
        compare(ADA, "noSuchAttribute:1"),
        code::UNDEFINED_ATTRIBUTE_TYPE
    );
    assert_eq!(
        compare("uid=nobody,dc=example,dc=com", "cn:x"),
        code::NO_SUCH_OBJECT
    );
}

#[test]
fn assertion_control() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let search = |assertion: &str| {
        tools
            .run("ldapsearch", &["-b", ADA, "-e", assertion, "uid"], "")
            .status
    };
    assert_eq!(search("!assert=(uid=ada)"), code::SUCCESS);
    assert_eq!(search("!assert=(uid=grace)"), code::ASSERTION_FAILED);
    // A critical control unknown to the server must be refused.
    let unknown = search("!1.2.3.4.5.6.7.8.9");
    assert_eq!(unknown, code::UNAVAILABLE_CRITICAL_EXTENSION);
}
