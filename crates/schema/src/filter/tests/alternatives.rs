//! An OR tested row by row has the truth of its parts.

use super::*;

const PARTS: [&str; 14] = [
    "(cn=Nobody)",
    "(cn=barbara  j JENSEN)",
    "(cn;lang-de=Nobody)",
    "(name=babs jensen)",
    "(sn=Jenson)",
    "(uidNumber=1042)",
    "(uidNumber=1043)",
    "(member=cn=group one, ou=Groups,dc=example,dc=com)",
    "(member=cn=group two,dc=example,dc=com)",
    "(objectClass=person)",
    "(entryDN=cn=X)",
    "(entryDN=cn=babs jensen,ou=product development,dc=example,dc=com)",
    "(unknown=1)",
    "(!(mail=babs@example.com))",
];

proptest! {
    #[test]
    fn an_or_is_what_its_parts_are(
        rows in proptest::collection::vec((0..PARTS.len(), 1..8usize), 1..8),
    ) {
        let text: String = rows
            .iter()
            .map(|(part, times)| PARTS[*part].repeat(*times))
            .collect();
        let filter @ Filter::Or(_) = resolve(&format!("(|{text})")) else {
            panic!("{text} is no OR");
        };
        let truth = |filter: &Filter| filter.evaluate(&SCHEMA, &*PERSON, &mut Vec::new());
        let alone: Vec<Truth> = filter.parts().unwrap().iter().map(truth).collect();
        let expected = if alone.contains(&Truth::True) {
            Truth::True
        } else if alone.contains(&Truth::Undefined) {
            Truth::Undefined
        } else {
            Truth::False
        };
        prop_assert_eq!(truth(&filter), expected, "{}", text);
    }
}

#[test]
fn one_of_a_thousand_is_found() {
    let parts: String = (0..1_000).map(|it| format!("(uidNumber={it})")).collect();
    check_on(
        &PERSON,
        &format!("(|{parts}(uidNumber=01042)(sn=x))"),
        Truth::Undefined,
    );
    check_on(
        &PERSON,
        &format!("(|{parts}(uidNumber=1042)(sn=x))"),
        Truth::True,
    );
    check_on(&PERSON, &format!("(|{parts}(sn=x))"), Truth::False);
    check_on(&PERSON, &format!("(|{parts}(sn=jensen))"), Truth::True);
}

/// Octets without a normal form under the rule equal only themselves.
#[test]
fn values_without_a_normal_form_equal_themselves() {
    let odd = entry("cn=x", "cn: x\n uidNumber: many");
    let parts = "(uidNumber=1)".repeat(6);
    check_on(&odd, &format!("(|{parts})"), Truth::False);
}

#[test]
fn changed_parts_are_found() {
    let Filter::Or(mut parts) = resolve("(|(cn=a)(cn=b)(cn=c)(cn=d)(cn=e))") else {
        panic!("no OR");
    };
    let mut left = ["(cn=z)", "(sn=jensen)", "(cn=y)", "(cn=x)", "(cn=w)"].into_iter();
    let changed = parts.try_change(|part| {
        *part = resolve(left.next().ok_or("no more")?);
        Ok::<(), &str>(())
    });
    assert_eq!(changed, Ok(()));
    let filter = Filter::Or(parts);
    assert_eq!(filter.to_string(), "(|(cn=w)(cn=x)(cn=y)(cn=z)(sn=jensen))");
    assert_eq!(
        filter.evaluate(&SCHEMA, &*PERSON, &mut Vec::new()),
        Truth::True
    );
}

/// A source that finds values by their form is not asked to list them.
#[test]
fn values_that_are_found_are_not_listed() {
    struct Found(AttributeNumber);
    impl ValueSource for Found {
        fn any_value(&self, _: AttributeNumber, _: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
            panic!("ten million values were listed");
        }

        fn equal_value(
            &self,
            number: AttributeNumber,
            normal: &[u8],
            _: &mut dyn FnMut(&[u8]) -> bool,
        ) -> Option<bool> {
            (number == self.0).then(|| normal.ends_with(b"7"))
        }

        fn finds_values(&self, number: AttributeNumber) -> bool {
            number == self.0
        }
    }
    let number = SCHEMA
        .number(&SCHEMA.describe("uidNumber").unwrap())
        .unwrap();
    let of = |numbers: [u32; 6]| {
        let parts = numbers.map(|it| format!("(uidNumber={it})")).concat();
        resolve(&format!("(|{parts})")).evaluate(&SCHEMA, &Found(number), &mut Vec::new())
    };
    assert_eq!(of([1, 2, 3, 4, 5, 6]), Truth::False);
    assert_eq!(of([1, 2, 3, 4, 5, 7]), Truth::True);
}
