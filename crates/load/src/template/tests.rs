//! Tests of the template language.

use super::*;

const APPENDIX_C: &str = include_str!("../../../../examples/oid-appendix-c.template");

/// Returns the entries as lines: `dn: …` and `attribute: value`.
fn entries_of(template: Template, seed: u64, from: u64, to: u64) -> Vec<Vec<String>> {
    let mut out = Vec::new();
    let made: Result<(), GenerateError> =
        Generator::new(template, seed).generate_range(from, to, |entry| {
            assert_eq!(entry.index(), from + out.len() as u64);
            let mut lines = vec![format!("dn: {}", entry.dn())];
            for attribute in entry.attributes() {
                let mut count = 0;
                attribute.for_each(|value| {
                    count += 1;
                    let text = String::from_utf8_lossy(value);
                    lines.push(format!("{}: {text}", attribute.description()));
                });
                assert_eq!(count, attribute.value_count());
            }
            out.push(lines);
            Ok(())
        });
    made.unwrap();
    out
}

fn parse(text: &str) -> Template {
    parse_with(text, &ParseOptions::default())
}

#[track_caller]
fn parse_with(text: &str, options: &ParseOptions) -> Template {
    Template::parse_with(text, &Defines::new(), options).unwrap()
}

/// Returns all entries below the branch `dc=com`, whose template `T` has these lines.
#[track_caller]
fn below(count: u64, lines: &str) -> Vec<Vec<String>> {
    let template = parse(&format!(
        "branch: dc=com\nsubordinateTemplate: T:{count}\ntemplate: T\n{lines}"
    ));
    let mut entries = entries_of(template.clone(), 0, 0, template.total_entries());
    entries.remove(0);
    entries
}

/// Returns one value of the attribute `x` of the only entry of a template `cn: <sequential>` and
/// `line`.
#[track_caller]
fn value(line: &str) -> String {
    let entries = below(1, &format!("cn: <sequential>\n{line}\n"));
    let found = entries[0].iter().find_map(|text| text.strip_prefix("x: "));
    found.unwrap_or_default().to_owned()
}

#[track_caller]
fn check_error(text: &str, line: u64, message: &str) {
    let error = Template::parse(text, &Defines::new()).unwrap_err();
    assert_eq!(
        (error.line, error.message.contains(message)),
        (line, true),
        "{error}"
    );
}

#[test]
fn appendix_c_runs_as_printed() {
    let mut defines = Defines::new();
    defines.add("numusers=1000").unwrap();
    let template = Template::parse(APPENDIX_C, &defines).unwrap();
    assert_eq!(template.total_entries(), 1_001);
    assert_eq!(template.unused_defines(), [""; 0]);
    let entries = entries_of(template, 0, 0, 1_001);
    assert_eq!(
        entries[0],
        [
            "dn: ou=oracle,dc=com",
            "objectClass: top",
            "objectClass: organizationalUnit",
            "ou: oracle"
        ]
    );
    assert_eq!(entries.len(), 1_001);
    for (number, entry) in entries.iter().enumerate().skip(1) {
        assert_eq!(entry.len(), 20, "{entry:?}");
        assert_eq!(entry[0], format!("dn: uid=user.{number},ou=oracle,dc=com"));
        assert_eq!(
            entry[1..4],
            [
                "objectClass: top",
                "objectClass: person",
                "objectClass: inetorgperson"
            ]
        );
        assert_eq!(entry[4], format!("uid: user.{number}"));
        assert_eq!(entry[5], format!("cn: user.{number}"));
        assert_eq!(entry[6], format!("mail: user.{number}@oracle.com"));
    }
    assert_ne!(entries[1][8], entries[2][8]);
}

#[test]
fn appendix_c_holds_half_a_billion() {
    let mut defines = Defines::new();
    defines.add("NumUsers=500000000").unwrap();
    let template = Template::parse(APPENDIX_C, &defines).unwrap();
    assert_eq!(template.total_entries(), 500_000_001);
    let last = entries_of(template, 0, 500_000_000, u64::MAX);
    assert_eq!(last[0][0], "dn: uid=user.500000000,ou=oracle,dc=com");
}

#[test]
fn appendix_c_photo_is_1536_octets() {
    let template = Template::parse(APPENDIX_C, &Defines::new()).unwrap();
    let made: Result<(), GenerateError> =
        Generator::new(template, 0).generate_range(1, 2, |entry| {
            let photo = entry.attribute("PHOTO").unwrap();
            assert_eq!(photo.first().unwrap().len(), 1_536);
            assert_eq!(photo.slices().unwrap().count(), 1);
            assert_eq!(entry.template(), "Users");
            Ok(())
        });
    made.unwrap();
}

#[test]
fn any_range_is_the_same_slice_of_the_whole() {
    let template = parse(NESTED);
    let total = template.total_entries();
    assert_eq!(total, 1 + 3 * (1 + 4 * 2 + 2) + 1 + 2);
    let whole = entries_of(template.clone(), 5, 0, total);
    for from in 0..total {
        for to in from..=total {
            let part = entries_of(template.clone(), 5, from, to);
            assert_eq!(part[..], whole[from as usize..to as usize], "{from}..{to}");
        }
    }
    assert_ne!(whole, entries_of(template, 6, 0, total));
}

const NESTED: &str = "
branch: dc=com
subordinateTemplate: Unit:3

template: Unit
rdnAttr: ou
ou: unit <sequential:1>
description: <random:alpha:3:9>
subordinateTemplate: Person:4
subordinateTemplate: Device:2

template: Person
cn: <first> <last>
description: <sequential> of <sequential:0:false> in <parent:ou>, <presence:50><random:hex:4>
subordinateTemplate: Device

template: Device
cn: device <sequential:7:false>
owner: <parentdn>
l: <file:cities:sequential>

branch: ou=spare,dc=com
subordinateTemplate: Device:2
";

#[test]
fn global_counters_count_over_all_parents() {
    let template = parse(NESTED);
    let whole = entries_of(template.clone(), 5, 0, template.total_entries());
    let devices: Vec<&str> = whole
        .iter()
        .filter_map(|entry| entry[0].strip_prefix("dn: cn=device "))
        .collect();
    assert_eq!(devices.len(), 20);
    for (number, device) in (7..).zip(devices) {
        assert!(
            device.starts_with(&format!("{number},")),
            "{number} {device}"
        );
    }
    let all: std::collections::BTreeSet<_> = whole.iter().map(|entry| &entry[0]).collect();
    assert_eq!(all.len(), whole.len(), "names are unique");
}

#[test]
fn changing_one_count_keeps_other_entries() {
    let (small, large) = (
        "branch: dc=com\nsubordinateTemplate: A:2\nsubordinateTemplate: B:2\n",
        "branch: dc=com\nsubordinateTemplate: A:9\nsubordinateTemplate: B:2\n",
    );
    let rest =
        "template: A\ncn: a<sequential>\ntemplate: B\ncn: b<sequential>\nx: <random:hex:9>\n";
    let small = entries_of(parse(&format!("{small}{rest}")), 1, 3, 5);
    let large = entries_of(parse(&format!("{large}{rest}")), 1, 10, 12);
    assert_eq!(small, large);
}

#[test]
fn defines_nest_and_yield_to_the_command_line() {
    let text = "define which=2\ndefine n2=Users\ndefine count = 3 \n\
                branch: dc=com\nsubordinateTemplate: [n[which]]:[COUNT]\n\
                template: Users\ncn: \\[<sequential>\\]\n";
    let template = parse(text);
    assert_eq!(template.total_entries(), 4);
    assert_eq!(entries_of(template, 0, 3, 4)[0][1], "cn: [2]");
    let mut defines = Defines::new();
    defines.set("Count", "70");
    defines.set("cuont", "1");
    let template = Template::parse(text, &defines).unwrap();
    assert_eq!(template.total_entries(), 71);
    assert_eq!(template.unused_defines(), ["cuont"]);
    assert!(defines.add("novalue").is_err());
}

#[test]
fn rdn_values_are_escaped_and_may_be_several() {
    let entries = below(
        1,
        "rdnAttr: cn+ou\ncn: Smith, John\ncn: second\nou: #1+<sequential> \n",
    );
    assert_eq!(entries[0][0], "dn: cn=Smith\\, John+ou=\\#1\\+0,dc=com");
    assert_eq!(
        entries[0][1..],
        ["cn: Smith, John", "cn: second", "ou: #1+0"]
    );
}

#[test]
fn extending_takes_the_lines_of_the_other_first() {
    let text = "branch: dc=com\nsubordinateTemplate: child:1\n\
                template: Child\nextends: Parent\nsn: own\n\
                template: Parent\nrdnAttr: uid\nuid: u<sequential>\nsn: inherited\n";
    let entries = entries_of(parse(text), 0, 1, 2);
    assert_eq!(
        entries[0],
        ["dn: uid=u0,dc=com", "uid: u0", "sn: inherited", "sn: own"]
    );
}

#[test]
fn branches_have_classes_and_values_by_their_rdn() {
    let text = "branch: dc=com\ndescription: <random:alpha:4>\nbranch: o=a\\,b+ou=c,dc=com\n\
                branch: cn=x,dc=com\nbranch: uid=y,dc=com\nobjectClass: account\n";
    let entries = entries_of(parse(text), 0, 0, 4);
    assert_eq!(
        entries[0][..4],
        [
            "dn: dc=com",
            "objectClass: top",
            "objectClass: domain",
            "dc: com"
        ]
    );
    assert_eq!(entries[0][4].len(), "description: abcd".len());
    assert_eq!(
        entries[1][2..],
        ["objectClass: organization", "o: a,b", "ou: c"]
    );
    assert_eq!(entries[2][2], "objectClass: applicationProcess");
    assert_eq!(
        entries[3][2..4],
        ["objectClass: extensibleObject", "objectClass: account"]
    );
}

#[test]
fn missing_ancestors_are_made() {
    let template = parse("branch: ou=a,dc=b, dc=c\nbranch: ou=d,DC=B,dc=c\n");
    let names = |template: &Template| template.branches().map(str::to_owned).collect::<Vec<_>>();
    let all = template.clone().with_suffix_entries(&[]).unwrap();
    assert_eq!(
        names(&all),
        ["dc=c", "dc=b, dc=c", "ou=a,dc=b, dc=c", "ou=d,DC=B,dc=c"]
    );
    assert_eq!(all.total_entries(), 4);
    assert_eq!(
        entries_of(all, 0, 0, 1)[0][1..],
        ["objectClass: top", "objectClass: domain", "dc: c"]
    );
    let some = template.with_suffix_entries(&["dc=b,dc=c"]).unwrap();
    assert_eq!(
        names(&some),
        ["dc=b, dc=c", "ou=a,dc=b, dc=c", "ou=d,DC=B,dc=c"]
    );
}

#[test]
fn random_tags_have_the_promised_shape() {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    assert!(
        value("x: <Random:ALPHA:7>")
            .bytes()
            .all(|byte| byte.is_ascii_lowercase())
    );
    assert!((3..=5).contains(&value("x: <random:alpha:3:5>").len()));
    assert!(digits(&value("x: <random:numeric:12>")));
    let number: i64 = value("x: <random:numeric:-5:-3>").parse().unwrap();
    assert!((-5..=-3).contains(&number));
    let padded = value("x: <random:numeric:1:9:4>");
    assert!(padded.starts_with("000") && padded.len() == 4, "{padded}");
    assert_eq!(
        value("x: <random:numeric:1234567:1234567:#,##0>"),
        "1,234,567"
    );
    assert_eq!(value("x: <random:numeric:7:7:No. 000 of>"), "No. 007 of");
    assert!(
        value("x: <random:chars:a:b\\>:20:20>")
            .bytes()
            .all(|byte| b"a:b>".contains(&byte))
    );
    assert_eq!(value("x: <random:base64:6>").len(), 8);
    assert_eq!(value("x: <random:base64:5>").len(), 4);
    let telephone = value("x: <random:telephone>");
    assert_eq!((telephone.len(), &telephone[..3]), (15, "+1 "));
    assert_eq!(value("x: <random:month:3>").len(), 3);
    let guid = value("x: <guid>");
    assert_eq!(
        (guid.len(), guid.as_bytes()[14], guid.matches('-').count()),
        (36, b'4', 4)
    );
}

#[test]
fn values_may_be_base64() {
    assert_eq!(value("x:: aGVsbG8="), "hello");
    assert_eq!(value("x:: <base64:UTF-8:{cn}+{cn}>"), "0+0");
    assert_eq!(value("x: <base64:UTF-8:hello>"), "aGVsbG8=");
    let entries = below(2, "cn: <sequential>\nx:: <random:base64:10>\n");
    assert_eq!(entries.len(), 2);
    check_error("branch: dc=com\nx:: a", 2, "base64");
    let bad = parse("branch: dc=com\nx:: <random:alpha:3>!");
    let made: Result<(), GenerateError> = Generator::new(bad, 0).generate_range(0, 1, |_| Ok(()));
    assert_eq!(made.unwrap_err().line, 2);
}

#[test]
fn names_of_the_entry_and_above() {
    let lines = "rdnAttr: uid\nuid: a\\{<sequential>\n\
                 x: <dn>|<_dn>|<rdn>|<dn:1>|<dn:-1>|<parentdn>\n\
                 y: <ancestordn:1>|<ancestordn:2>|<parent:dc>|<parent:none>\n";
    let entries = below(1, lines);
    assert_eq!(
        entries[0][2],
        "x: uid=a{0,dc=com|uid=a{0_dc=com|uid=a{0|uid=a{0|dc=com|dc=com"
    );
    assert_eq!(entries[0][3], "y: dc=com||com|");
}

#[test]
fn references_see_earlier_lines_only() {
    assert_eq!(
        value("y: abc\u{e4}\u{f6}\nx: {y:4}|{z}|\\{y\\}|{CN}\nz: 1"),
        "abc\u{e4}||{y}|0"
    );
}

#[test]
fn conditions_drop_lines() {
    assert_eq!(value("x: <presence:0>never"), "");
    assert_eq!(value("x: <presence:100>always"), "always");
    assert_eq!(value("y: 1\nx: a<ifpresent:y>b"), "ab");
    assert_eq!(value("y: 1\nx: <ifpresent:y:2>b"), "");
    assert_eq!(value("y: 1\nx: <ifabsent:y:2>b"), "b");
    assert_eq!(value("x: <ifabsent:y>b"), "b");
    let kept = below(1_000, "cn: <sequential>\nx: <presence:30>1\n");
    let kept = kept.iter().filter(|entry| entry.len() == 3).count();
    assert!((200..400).contains(&kept), "{kept}");
}

#[test]
fn lists_are_weighted() {
    for list in ["<list:a:9,b:1,c:0>", "<list:a;9:b;1:c;0>"] {
        let entries = below(1_000, &format!("cn: <sequential>\nx: {list}\n"));
        let count = |wanted: &str| entries.iter().filter(|entry| entry[2] == wanted).count();
        assert!((850..950).contains(&count("x: a")), "{}", count("x: a"));
        assert_eq!(count("x: a") + count("x: b"), 1_000);
    }
}

#[test]
fn slamd_counters_are_shared() {
    let text = "branch: dc=com\nsubordinateTemplate: T:2\ntemplate: T\n\
                cn: u<sequential:5>-<sequential:5>\n";
    let own = entries_of(parse(text), 0, 1, 3);
    assert_eq!(
        (own[0][1].as_str(), own[1][1].as_str()),
        ("cn: u5-5", "cn: u6-6")
    );
    let options = ParseOptions {
        slamd_counters: true,
        ..ParseOptions::default()
    };
    let shared = entries_of(parse_with(text, &options), 0, 1, 3);
    assert_eq!(
        (shared[0][1].as_str(), shared[1][1].as_str()),
        ("cn: u5-6", "cn: u7-8")
    );
}

#[test]
fn loops_make_many_values_without_keeping_them() {
    let lines =
        "cn: group\nmember: uid=user.<loop:1:3>,dc=com\nmember: last\nx: <random:alpha:3>\n";
    let entries = below(1, lines);
    let expected = [
        "member: uid=user.1,dc=com",
        "member: uid=user.2,dc=com",
        "member: uid=user.3,dc=com",
    ];
    assert_eq!(entries[0][2..5], expected);
    assert_eq!(entries[0][5], "member: last");
    let longer = below(1, &lines.replace("1:3", "1:4"));
    assert_eq!(
        entries[0].last(),
        longer[0].last(),
        "what follows a loop does not depend on it"
    );
    let template = parse("branch: dc=com\nx: <loop:1:10000000>\n");
    let made: Result<(), GenerateError> = Generator::new(template, 0).generate_range(0, 1, |it| {
        let attribute = it.attribute("x").unwrap();
        assert_eq!(attribute.value_count(), 10_000_000);
        assert!(attribute.slices().is_none());
        Ok(())
    });
    made.unwrap();
}

#[test]
fn names_are_paired_without_repetition() {
    let entries = below(5_000, "cn: <first> <last>\n");
    let unique: std::collections::BTreeSet<_> = entries.iter().map(|entry| &entry[1]).collect();
    assert_eq!(unique.len(), 5_000);
    let options = ParseOptions::default();
    let names = lists::Names::load(&options).unwrap();
    let pairs = (names.first.len() * names.last.len()) as u64;
    assert_eq!(names.pair(pairs - 1).2, 0);
    assert_eq!(
        names.pair(pairs),
        (&names.first[0][..], &names.last[0][..], 1)
    );
}

#[test]
fn values_from_files_must_be_allowed() {
    let folder = std::env::temp_dir().join(format!("pando-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("picture"), [0u8, 255]).unwrap();
    std::fs::write(folder.join("words"), "one\r\ntwo\n\n").unwrap();
    let text = "branch: dc=com\nx:< file:picture\ny: <file:words:sequential>\n";
    let mut options = ParseOptions {
        folders: vec![folder.clone()],
        ..ParseOptions::default()
    };
    let refused = Template::parse_with(text, &Defines::new(), &options).unwrap_err();
    assert_eq!(refused.line, 2);
    options.file_urls = true;
    let template = parse_with(text, &options);
    let made: Result<(), GenerateError> = Generator::new(template, 0).generate_range(0, 1, |it| {
        assert_eq!(it.attribute("x").unwrap().first(), Some(&[0u8, 255][..]));
        assert_eq!(it.attribute("y").unwrap().first(), Some(&b"one"[..]));
        Ok(())
    });
    made.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn errors_name_line_and_remedy() {
    check_error("", 0, "branch: DN");
    check_error("cn: x", 1, "expected branch: or template:");
    check_error("branch: dc=com\n  objectClass: top", 2, "not folded");
    check_error("branch: dc=com\n\nx: [y]", 3, "write \\[");
    check_error("branch: dc=com\nx: [y", 2, "expected ]");
    check_error("branch: dc=com\nx: <random:alpha:2", 2, "expected >");
    check_error("branch: dc=com\nx: <nonsense>", 2, "write \\<");
    check_error("branch: dc=com\nx: <exec:rm>", 2, "refused");
    check_error("include com.example.Tag\nbranch: dc=com", 1, "refused");
    check_error("define a=1\ndefine A=2\nbranch: dc=com", 2, "second time");
    check_error("branch: dc=com\nsubordinateTemplate: T", 2, "name:count");
    check_error("branch: dc=com\nsubordinateTemplate: T:1", 2, "no template");
    check_error("branch: dc=com\nsubordinateTemplate: T:x", 2, "a number");
    check_error("branch: dc=com\nnovalue", 2, "attribute: value");
    check_error("branch: dc=com\nx:  ", 2, "expected a value");
    check_error("branch: com", 1, "expected a DN");
    check_error("branch: dc=com\ntemplate: T\nsn: 1", 2, "RDN attribute cn");
    check_error(
        "branch: dc=com\ntemplate: T\nx: <dn>\ncn: 1",
        3,
        "below the RDN",
    );
    check_error(
        "branch: dc=com\ntemplate: T\nextends: T\ncn: 1",
        3,
        "extends itself",
    );
    check_error(
        "branch: dc=com\ntemplate: T\ncn: 1\nsubordinateTemplate: T",
        2,
        "descendant",
    );
    check_error("branch: dc=com\ntemplate: T\ncn: <loop:1:2>", 2, "<loop>");
    check_error("branch: dc=com\nx: <random:numeric:5:1>", 2, "rise");
    let huge = "branch: dc=com\nsubordinateTemplate: T:9999999999999999999\ntemplate: T\ncn: 1";
    check_error(huge, 1, "2^63");
}

#[test]
fn attributes_are_listed_with_their_lines() {
    let template = parse("branch: dc=com\nx: 1\ntemplate: T\ncn: 1\nX: 2\n");
    assert_eq!(
        template.attributes(),
        [(0, "objectClass"), (0, "dc"), (2, "x"), (4, "cn")]
    );
}

#[test]
fn the_examples_run() {
    let examples = [
        (
            include_str!("../../../../examples/company.template"),
            "PeopleEach=3",
            2 + 20 * 8,
        ),
        (
            include_str!("../../../../examples/small-entries.template"),
            "NumUsers=2",
            3,
        ),
        (
            include_str!("../../../../examples/oid-with-password.template"),
            "NumUsers=2",
            3,
        ),
        (
            include_str!("../../../../examples/large-groups.template"),
            "NumMembers=3",
            51,
        ),
    ];
    for (text, define, total) in examples {
        let mut defines = Defines::new();
        defines.add(define).unwrap();
        let template = Template::parse(text, &defines).unwrap();
        assert!(template.unused_defines().is_empty(), "{define}");
        assert_eq!(template.total_entries(), total);
        entries_of(template, 0, 0, total);
    }
}

#[test]
fn definitions_that_double_each_other_end() {
    let mut text = "define a0=xxxxxxxx\n".to_owned();
    for turn in 1..40 {
        let before = turn - 1;
        text.push_str(&format!("define a{turn}=[a{before}][a{before}]\n"));
    }
    check_error(&text, 19, "longer than a megabyte");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(line in "[a-zA-Z:<>{}\\[\\]\\\\ =0-9,;.-]{0,60}") {
        let begin = "branch: dc=com\nsubordinateTemplate: T:2\ntemplate: T\ncn: x\n";
        let text = format!("{begin}{line}\n");
        if let Ok(template) = Template::parse(&text, &Defines::new()) {
            let total = template.total_entries().min(3);
            let made: Result<(), GenerateError> =
                Generator::new(template, 0).generate_range(0, total, |_| Ok(()));
            // An entry may be impossible to make, but that must be an error.
            drop(made);
        }
    }

    #[test]
    fn tags_of_any_shape_are_read_or_refused(
        name in "(random|loop|list|file|dn|sequential|presence|ifpresent|base64|parent)",
        arguments in "[a-z0-9:,;#.{}\\\\-]{0,24}",
    ) {
        let text = format!("branch: dc=com\nx: <{name}:{arguments}>\n");
        if let Ok(template) = Template::parse(&text, &Defines::new()) {
            let made: Result<(), GenerateError> =
                Generator::new(template, 0).generate_range(0, 1, |_| Ok(()));
            drop(made);
        }
    }
}
