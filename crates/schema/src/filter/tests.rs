//! Filters on entries: one `check` for all kinds of assertions.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

mod alternatives;

/// The standard schema with numbers for the attributes of the test entries.
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let descriptions = [
        "objectClass",
        "cn",
        "sn",
        "cn;lang-de",
        "cn;lang-de;x-foo",
        "uidNumber",
        "mail",
        "member",
        "uniqueMember",
        "telephoneNumber",
        "postalAddress",
        "modifyTimestamp",
        "givenName",
        "userPassword",
        "jpegPhoto",
        "description",
        "internationaliSDNNumber",
        "pwdReset",
        "dc",
        "entryUUID",
        "x121Address",
        "octets",
    ];
    let octets = "attributetype ( 1.3.6.1.4.1.32473.1 NAME 'octets' EQUALITY octetStringMatch
        SUBSTR octetStringSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )";
    let definitions = crate::read_schema_file(octets).unwrap();
    let schema = Schema::standard().extended(&definitions).unwrap();
    descriptions.iter().fold(schema, |schema, text| {
        let description = schema.describe(text).unwrap();
        schema.with_number(&description).unwrap().0
    })
});

struct Entry {
    name: &'static str,
    values: Vec<(AttributeNumber, &'static [u8])>,
}

/// Makes an entry from its name and lines `description: value`.
fn entry(name: &'static str, lines: &'static str) -> Entry {
    let values = lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let (description, value) = line.split_once(": ").unwrap();
            let description = SCHEMA.describe(description).unwrap();
            (SCHEMA.number(&description).unwrap(), value.as_bytes())
        });
    Entry {
        name,
        values: values.collect(),
    }
}

impl ValueSource for Entry {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let mut values = self
            .values
            .iter()
            .filter(|(it, _)| *it == number)
            .peekable();
        values.peek()?;
        Some(values.any(|(_, value)| test(value)))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let entry_dn = SCHEMA.attribute_type("entryDN") == Some(type_id);
        entry_dn.then(|| test(self.name.as_bytes()))
    }

    fn spelled_name(&self) -> Option<String> {
        Some(self.name.to_owned())
    }
}

static PERSON: LazyLock<Entry> = LazyLock::new(|| {
    entry(
        "cn=Babs Jensen,ou=Product  Development,dc=example,dc=com",
        "objectClass: inetOrgPerson
         cn: Babs Jensen
         cn: Barbara J Jensen
         cn;lang-de: Barbara von Jensen
         sn: Jensen
         uidNumber: 1042
         mail: Babs@Example.com
         member: cn=Group One,ou=groups,dc=example,dc=com
         uniqueMember: cn=X,dc=example,dc=com#'01'B
         telephoneNumber: +1 408 555 1862
         postalAddress: 1 Main St.$Anytown
         modifyTimestamp: 20260301120000Z
         userPassword: secret
         description: has  two   spaces
         pwdReset: TRUE
         entryUUID: 597ae2f6-16a6-1027-98f4-d28b5365dc14",
    )
});

/// The present time of the tests, 2026-03-02 12:00:00 UTC.
const NOW_S: i64 = 1_772_452_800;

fn resolve(text: &str) -> Filter {
    let bytes = protocol::parse_filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut reader = protocol::ber::Reader::new(&bytes);
    let filter = protocol::Filter::decode(&mut reader, 32).unwrap();
    SCHEMA.resolve_filter_with(&filter, &|| NOW_S)
}

#[track_caller]
fn check_on(entry: &Entry, text: &str, expected: Truth) {
    let filter = resolve(text);
    let found = filter.evaluate(&SCHEMA, entry, &mut Vec::new());
    assert_eq!(found, expected, "{text} is {filter}");
}

#[track_caller]
fn check(expected: Truth, filters: &[&str]) {
    for text in filters {
        check_on(&PERSON, text, expected);
    }
}

#[test]
fn equality() {
    check(
        Truth::True,
        &[
            "(cn=Babs Jensen)",
            "(CN=babs  jensen)",
            "(2.5.4.3=BABS JENSEN )",
            "(name=jensen)",
            "(uidNumber=1042)",
            "(mail=babs@example.COM)",
            "(member=CN=group one, OU=groups,dc=example,dc=com)",
            "(uniqueMember=CN=x,dc=example,dc=com#'01'B)",
            "(telephoneNumber=+1-408-5551862)",
            "(postalAddress=1 main st. $ANYTOWN)",
            "(modifyTimestamp=202603011300+01)",
            "(userPassword=secret)",
            "(pwdReset=TRUE)",
            "(entryUUID=597AE2F6-16A6-1027-98F4-D28B5365DC14)",
            "(entryDN=CN=babs jensen,ou=product development,dc=example,dc=com)",
        ],
    );
    check(
        Truth::False,
        &[
            "(cn=Babs)",
            "(givenName=Babs)",
            "(uidNumber=1043)",
            "(uniqueMember=CN=x,dc=example,dc=com)",
            "(userPassword=Secret)",
            "(c=US)",
        ],
    );
    check(
        Truth::Undefined,
        &[
            "(shoeSize=42)",
            "(cn=)",
            "(uidNumber=abc)",
            "(uidNumber=0042)",
            "(member=nonsense)",
            "(member=nothing=x)",
            "(pwdReset=yes)",
            "(jpegPhoto=x)",
            "(modifyTimestamp=yesterday)",
        ],
    );
}

#[test]
fn options() {
    check(
        Truth::True,
        &["(cn=barbara von jensen)", "(cn;lang-de=Barbara von Jensen)"],
    );
    check(Truth::True, &["(cn;LANG-DE=*)", "(name;lang-de=*von*)"]);
    check(
        Truth::False,
        &[
            "(cn;lang-de=Babs Jensen)",
            "(cn;lang-fr=*)",
            "(cn;lang-de;x-foo=*)",
        ],
    );
    let tagged = entry("cn=x", "cn;lang-de;x-foo: Superset");
    check_on(&tagged, "(cn;lang-de=superset)", Truth::True);
    check_on(&tagged, "(cn;x-foo=superset)", Truth::True);
    check_on(&tagged, "(cn=superset)", Truth::True);
    let filter = resolve("(cn;lang-de=x)");
    let Filter::Equality(assertion) = filter else {
        panic!("{filter}")
    };
    assert_eq!(assertion.selector.numbers.len(), 2);
    assert_eq!(
        assertion.selector.base,
        SCHEMA.number(&SCHEMA.describe("cn;lang-de").unwrap())
    );
}

#[test]
fn object_classes_and_what_they_derive_from() {
    check(
        Truth::True,
        &[
            "(objectClass=inetOrgPerson)",
            "(objectClass=INETORGPERSON)",
            "(objectClass=2.16.840.1.113730.3.2.2)",
            "(objectClass=person)",
            "(objectClass=2.5.6.6)",
            "(objectClass=top)",
            "(objectClass=*)",
        ],
    );
    check(
        Truth::False,
        &[
            "(objectClass=organizationalUnit)",
            "(objectClass=posixAccount)",
            "(objectClass=9.9.9)",
            "(objectClass=2.5.4.3)",
        ],
    );
    check(Truth::True, &["(!(objectClass=9.9.9))"]);
    check(
        Truth::Undefined,
        &[
            "(objectClass=nothing)",
            "(!(objectClass=nothing))",
            "(objectClass=cn)",
        ],
    );
    let by_oid = entry("cn=x", "objectClass: 2.5.6.6");
    check_on(&by_oid, "(objectClass=person)", Truth::True);
    check_on(&by_oid, "(objectClass=inetOrgPerson)", Truth::False);
    let Filter::Equality(assertion) = resolve("(objectClass=Person)") else {
        panic!()
    };
    assert_eq!(&*assertion.normal, b"person");
    let has = |name: &[u8]| assertion.alternatives.iter().any(|it| **it == *name);
    assert!(has(b"person") && has(b"inetorgperson") && has(b"organizationalperson"));
    assert!(!has(b"organizationalunit"));
}

#[test]
fn substrings() {
    check(
        Truth::True,
        &[
            "(cn=Babs*)",
            "(cn=*JENSEN)",
            "(cn=b*b*s*n)",
            "(cn=*Jen*)",
            "(cn=babs *jensen)",
            "(cn=babs* jensen)",
            "(cn=babs * jensen)",
            "(cn=*jensen *)",
            "(cn=* babs*)",
            "(cn=* *)",
            "(description=*two spaces)",
            "(description=has* two *)",
            "(telephoneNumber=*408-555*)",
            "(telephoneNumber=+1408*)",
            "(telephoneNumber=*-*)",
            "(postalAddress=*any*)",
            "(postalAddress=1*town)",
            "(mail=BABS@*)",
        ],
    );
    check(
        Truth::False,
        &[
            "(cn=abs*)",
            "(cn=*jense)",
            "(cn=babs*babs*)",
            "(cn=*bs  * * jen*)",
            "(cn=babsjen*)",
            "(telephoneNumber=*409*)",
            "(postalAddress=*st. any*)",
            "(postalAddress=*$*)",
            "(givenName=b*)",
        ],
    );
    check(
        Truth::Undefined,
        &[
            "(uidNumber=1*)",
            "(member=cn=*)",
            "(jpegPhoto=a*)",
            "(telephoneNumber=*_*)",
            "(shoeSize=4*)",
        ],
    );
}

#[test]
fn ordering() {
    check(
        Truth::True,
        &[
            "(uidNumber>=1042)",
            "(uidNumber>=-5)",
            "(uidNumber<=99999999999999999999999)",
            "(modifyTimestamp>=20260301120000Z)",
            "(modifyTimestamp<=2026030113Z)",
            "(entryUUID<=ffffffff-ffff-ffff-ffff-ffffffffffff)",
        ],
    );
    check(
        Truth::False,
        &["(uidNumber>=1043)", "(uidNumber<=200)", "(gidNumber>=0)"],
    );
    check(
        Truth::Undefined,
        &["(member>=cn=a)", "(uidNumber>=x)", "(shoeSize<=1)"],
    );
}

#[test]
fn approx() {
    check(
        Truth::True,
        &["(cn~=Bobs Jenson)", "(sn~=JENSEN)", "(cn~=Barbra Jensn)"],
    );
    check(Truth::True, &["(uidNumber~=1042)", "(cn~=babs jensen)"]);
    check(
        Truth::False,
        &["(cn~=Jensen Babs)", "(sn~=Miller)", "(uidNumber~=1)"],
    );
    check(Truth::Undefined, &["(shoeSize~=1)", "(uidNumber~=many)"]);
}

#[test]
fn extensible() {
    check(
        Truth::True,
        &[
            "(cn:caseExactMatch:=Babs Jensen)",
            "(cn:=babs jensen)",
            "(:caseIgnoreMatch:=jensen)",
            "(cn:2.5.13.4:=ba\\2ajen\\2a)",
            "(ou:dn:=product development)",
            "(:dn:caseIgnoreMatch:=EXAMPLE)",
            "(dc:dn:caseIgnoreIA5SubstringsMatch:=ex\\2ale)",
            "(cn:wordMatch:=barbara)",
            "(member:dnSubtreeMatch:=dc=example,dc=com)",
            "(member:dnOneLevelMatch:=ou=groups,dc=example,dc=com)",
            "(member:dnSubordinateMatch:=dc=com)",
            "(member:dnSuperiorMatch:=cn=a,cn=group one,ou=groups,dc=example,dc=com)",
            "(entryDN:dnSubtreeMatch:=dc=com)",
            "(uidNumber:1.2.840.113556.1.4.803:=18)",
            "(uidNumber:1.2.840.113556.1.4.804:=3)",
            "(member:1.2.840.113556.1.4.1941:=cn=group one,ou=groups,dc=example,dc=com)",
            "(uidNumber:integerOrderingMatch:=1043)",
            "(modifyTimestamp:relativeTimeGTOrderingMatch:=-2d)",
            "(modifyTimestamp:1.3.6.1.4.1.26027.1.4.6:=-12h)",
            "(modifyTimestamp:partialDateAndTimeMatchingRule:=1D3M)",
        ],
    );
    check(
        Truth::False,
        &[
            "(cn:caseExactMatch:=babs jensen)",
            "(ou:=product development)",
            "(ou:dn:=development)",
            "(:caseExactMatch:=jensen)",
            "(member:dnOneLevelMatch:=dc=example,dc=com)",
            "(member:dnSuperiorMatch:=cn=group one,ou=groups,dc=example,dc=com)",
            "(uidNumber:1.2.840.113556.1.4.803:=3)",
            "(uidNumber:1.2.840.113556.1.4.804:=1)",
            "(uidNumber:integerOrderingMatch:=1042)",
            "(modifyTimestamp:relativeTimeGTOrderingMatch:=-1h)",
            "(modifyTimestamp:partialDateAndTimeMatchingRule:=2D)",
            "(cn:wordMatch:=barb)",
        ],
    );
    check(
        Truth::Undefined,
        &[
            "(cn:integerMatch:=1)",
            "(cn:noSuchRule:=x)",
            "(shoeSize:caseIgnoreMatch:=x)",
            "(uidNumber:1.2.840.113556.1.4.803:=x)",
            "(modifyTimestamp:relativeTimeGTOrderingMatch:=soon)",
            "(jpegPhoto:=x)",
        ],
    );
}

#[test]
fn time_rules_need_the_time() {
    let bytes =
        protocol::parse_filter("(modifyTimestamp:relativeTimeGTOrderingMatch:=-2d)").unwrap();
    let filter = protocol::Filter::decode(&mut protocol::ber::Reader::new(&bytes), 32).unwrap();
    assert!(matches!(
        SCHEMA.resolve_filter(&filter),
        Filter::Undefined(_)
    ));
}

#[test]
fn logic() {
    check(
        Truth::True,
        &[
            "(&)",
            "(!(|))",
            "(&(cn=*)(sn=jensen))",
            "(|(shoeSize=1)(cn=*))",
            "(!(&(shoeSize=1)(sn=miller)))",
            "(!(givenName=*))",
        ],
    );
    check(
        Truth::False,
        &["(|)", "(!(cn=*))", "(&(shoeSize=1)(sn=miller))"],
    );
    check(
        Truth::Undefined,
        &[
            "(!(shoeSize=1))",
            "(&(cn=*)(shoeSize=1))",
            "(|(c=US)(shoeSize=1))",
        ],
    );
}

#[test]
fn printed() {
    for (given, expected) in [
        (
            "(&(cn=Babs Jensen)(!(sn=x)))",
            "(&(cn=Babs Jensen)(!(sn=x)))",
        ),
        (
            "(|(uidNumber>=5)(uidNumber<=7)(CN~=x))",
            "(|(uidNumber>=5)(uidNumber<=7)(CN~=x))",
        ),
        ("(cn=A\\2ab*c d*E)", "(cn=a\\2ab*c  d*e)"),
        ("(cn=*)", "(cn=*)"),
        ("(cn:dn:2.5.13.5:=x)", "(cn:dn:caseExactMatch:=x)"),
        ("(:2.5.13.5:=x)", "(:caseExactMatch:=x)"),
        ("(&)", "(&)"),
        ("(objectClass=top)", "(objectClass=*)"),
        ("(shoeSize=42)", "(?=unknown attribute type \"shoeSize\")"),
        ("(userPassword=\\ff\\28)", "(userPassword=\\ff\\28)"),
    ] {
        assert_eq!(resolve(given).to_string(), expected);
    }
}

#[test]
fn assertion_of_a_compare() {
    let filter = SCHEMA.resolve_assertion("CN", b"BABS jensen");
    assert_eq!(
        filter.evaluate(&SCHEMA, &*PERSON, &mut Vec::new()),
        Truth::True
    );
    assert!(matches!(
        SCHEMA.resolve_assertion("shoeSize", b"1"),
        Filter::Undefined(_)
    ));
}

#[test]
fn long_pieces() {
    let piece = "a".repeat(40);
    let long = entry(
        "cn=x",
        "octets: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
    );
    check_on(&long, &format!("(octets=*{piece}b*)"), Truth::True);
    check_on(&long, &format!("(octets=*{piece}c*)"), Truth::False);
    check_on(&long, &format!("(octets=*{piece}*{piece}*)"), Truth::False);
}

#[test]
fn grams_of_pieces_are_grams_of_the_value() {
    let grams = |text: &str| {
        let Filter::Substrings(assertion) = resolve(text) else {
            panic!("{text}")
        };
        crate::grams_of_assertion(&assertion)
    };
    assert_eq!(grams("(cn=A*)"), [[2, b' ', b'a']]);
    assert_eq!(grams("(cn=*z)"), [[b'z', b' ', 3]]);
    assert_eq!(grams("(cn=*abcd*)"), [*b"abc", *b"bcd"]);
    assert_eq!(grams("(cn=*a*)"), [[0u8; 3]; 0]);
    assert_eq!(grams("(cn=*a b*)"), [*b"a b"]);
}

proptest! {
    #[test]
    fn the_index_finds_what_matches(
        value in "[ab ]{1,8}",
        pieces in proptest::collection::vec("[ab ]{0,3}", 2..4),
        attribute in prop_oneof![Just("cn"), Just("octets"), Just("mail"), Just("telephoneNumber")],
    ) {
        let text = format!("({attribute}={})", pieces.join("*"));
        let type_id = SCHEMA.attribute_type(attribute).unwrap();
        let mut normal = Vec::new();
        if SCHEMA.normalise_substring(type_id, value.as_bytes(), &mut normal).is_ok()
            && let Filter::Substrings(assertion) = resolve(&text)
            && assertion.matches(&normal)
        {
            let held: Vec<_> = crate::substring_grams_of_value(&normal).collect();
            let mut equality = Vec::new();
            SCHEMA.normalise_equality(type_id, value.as_bytes(), &mut equality).unwrap();
            let held_by_equality: Vec<_> = crate::substring_grams_of_value(&equality).collect();
            for gram in crate::grams_of_assertion(&assertion) {
                prop_assert!(held.contains(&gram), "{} {:?} {:?}", text, value, gram);
                prop_assert!(held_by_equality.contains(&gram), "{} {:?}", text, value);
            }
        }
    }

    #[test]
    fn truth_tables(truths in proptest::collection::vec(0u8..3, 0..5)) {
        let part = |it: &u8| match it {
            0 => Filter::False,
            1 => Filter::Undefined(String::new()),
            _ => Filter::True,
        };
        let rank = |filter: &Filter| match filter.evaluate(&SCHEMA, &*PERSON, &mut Vec::new()) {
            Truth::False => 0,
            Truth::Undefined => 1,
            Truth::True => 2,
        };
        let parts: Vec<Filter> = truths.iter().map(part).collect();
        let (least, most) = (truths.iter().min(), truths.iter().max());
        prop_assert_eq!(rank(&Filter::And(parts.clone())), *least.unwrap_or(&2));
        prop_assert_eq!(rank(&Filter::Or(parts.iter().cloned().collect())), *most.unwrap_or(&0));
        for part in parts {
            let truth = rank(&part);
            prop_assert_eq!(rank(&Filter::Not(Box::new(part))), 2 - truth);
        }
    }

    #[test]
    fn numbers_compare_as_numbers(stored: i64, asserted: i64) {
        struct One(AttributeNumber, String);
        impl ValueSource for One {
            fn any_value(
                &self,
                number: AttributeNumber,
                test: &mut dyn FnMut(&[u8]) -> bool,
            ) -> Option<bool> {
                (number == self.0).then(|| test(self.1.as_bytes()))
            }
        }
        let number = SCHEMA.number(&SCHEMA.describe("uidNumber").unwrap()).unwrap();
        let entry = One(number, stored.to_string());
        let is = |text: String| {
            resolve(&text).evaluate(&SCHEMA, &entry, &mut Vec::new()) == Truth::True
        };
        prop_assert_eq!(is(format!("(uidNumber>={asserted})")), stored >= asserted);
        prop_assert_eq!(is(format!("(uidNumber<={asserted})")), stored <= asserted);
        prop_assert_eq!(is(format!("(uidNumber={asserted})")), stored == asserted);
        let (has, want) = (stored, asserted);
        let all = is(format!("(uidNumber:1.2.840.113556.1.4.803:={want})"));
        prop_assert_eq!(all, has & want == want);
        let some = is(format!("(uidNumber:1.2.840.113556.1.4.804:={want})"));
        prop_assert_eq!(some, has & want != 0);
    }
}
