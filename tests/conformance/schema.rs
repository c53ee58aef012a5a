//! RFC 4519 and RFC 4512: the definitions in the subschema, and their reading by clauses.

use crate::prelude::*;

/// Rows of section, name, OID, and words that the definition must have: a keyword and its value, or
/// a flag.
pub(crate) type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

pub(crate) const STRING: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";

pub(crate) const IGNORE: &str = "EQUALITY caseIgnoreMatch";

const IGNORE_PARTS: &str = "SUBSTR caseIgnoreSubstringsMatch";

const NAME: &str = "SUP name";

const DN: &str = "SUP distinguishedName";

pub(crate) const DN_SYNTAX: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.12";

const PRINTABLE: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.44";

const TIME: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.24";

pub(crate) const IGNORE_TEXT: &[&str] = &[IGNORE, IGNORE_PARTS, STRING];

pub(crate) const LINES: &[&str] = &[
    "EQUALITY caseIgnoreListMatch",
    "SUBSTR caseIgnoreListSubstringsMatch",
    "SYNTAX 1.3.6.1.4.1.1466.115.121.1.41",
];

pub(crate) const PHONE: &[&str] = &[
    "EQUALITY telephoneNumberMatch",
    "SUBSTR telephoneNumberSubstringsMatch",
    "SYNTAX 1.3.6.1.4.1.1466.115.121.1.50",
];

const NUMBER: &[&str] = &[
    "EQUALITY numericStringMatch",
    "SUBSTR numericStringSubstringsMatch",
    "SYNTAX 1.3.6.1.4.1.1466.115.121.1.36",
];

pub(crate) const IA5: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26";

pub(crate) fn clauses(book: &mut Book) {
    types(book, "rfc4519", RFC4519, true);
    types(book, "rfc4512", RFC4512, true);
    classes(book, "rfc4519", CLASSES_4519, true);
    classes(book, "rfc4512", CLASSES_4512, true);
}

const RFC4519: &[Row] = &[
    ("2.1", "businessCategory", "2.5.4.15", IGNORE_TEXT),
    (
        "2.2",
        "c",
        "2.5.4.6",
        &[NAME, "SYNTAX 1.3.6.1.4.1.1466.115.121.1.11", "SINGLE-VALUE"],
    ),
    ("2.3", "cn", "2.5.4.3", &[NAME]),
    (
        "2.4",
        "dc",
        "0.9.2342.19200300.100.1.25",
        &[
            "EQUALITY caseIgnoreIA5Match",
            "SUBSTR caseIgnoreIA5SubstringsMatch",
            IA5,
            "SINGLE-VALUE",
        ],
    ),
    ("2.5", "description", "2.5.4.13", IGNORE_TEXT),
    (
        "2.6",
        "destinationIndicator",
        "2.5.4.27",
        &[IGNORE, IGNORE_PARTS, PRINTABLE],
    ),
    (
        "2.7",
        "distinguishedName",
        "2.5.4.49",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX],
    ),
    (
        "2.8",
        "dnQualifier",
        "2.5.4.46",
        &[
            IGNORE,
            "ORDERING caseIgnoreOrderingMatch",
            IGNORE_PARTS,
            PRINTABLE,
        ],
    ),
    (
        "2.9",
        "enhancedSearchGuide",
        "2.5.4.47",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.21"],
    ),
    (
        "2.10",
        "facsimileTelephoneNumber",
        "2.5.4.23",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.22"],
    ),
    ("2.11", "generationQualifier", "2.5.4.44", &[NAME]),
    ("2.12", "givenName", "2.5.4.42", &[NAME]),
    ("2.13", "houseIdentifier", "2.5.4.51", IGNORE_TEXT),
    ("2.14", "initials", "2.5.4.43", &[NAME]),
    ("2.15", "internationalISDNNumber", "2.5.4.25", NUMBER),
    ("2.16", "l", "2.5.4.7", &[NAME]),
    ("2.17", "member", "2.5.4.31", &[DN]),
    ("2.18", "name", "2.5.4.41", IGNORE_TEXT),
    ("2.19", "o", "2.5.4.10", &[NAME]),
    ("2.20", "ou", "2.5.4.11", &[NAME]),
    ("2.21", "owner", "2.5.4.32", &[DN]),
    (
        "2.22",
        "physicalDeliveryOfficeName",
        "2.5.4.19",
        IGNORE_TEXT,
    ),
    ("2.23", "postalAddress", "2.5.4.16", LINES),
    ("2.24", "postalCode", "2.5.4.17", IGNORE_TEXT),
    ("2.25", "postOfficeBox", "2.5.4.18", IGNORE_TEXT),
    (
        "2.26",
        "preferredDeliveryMethod",
        "2.5.4.28",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.14", "SINGLE-VALUE"],
    ),
    (
        "2.27",
        "registeredAddress",
        "2.5.4.26",
        &["SUP postalAddress", "SYNTAX 1.3.6.1.4.1.1466.115.121.1.41"],
    ),
    ("2.28", "roleOccupant", "2.5.4.33", &[DN]),
    (
        "2.29",
        "searchGuide",
        "2.5.4.14",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.25"],
    ),
    ("2.30", "seeAlso", "2.5.4.34", &[DN]),
    (
        "2.31",
        "serialNumber",
        "2.5.4.5",
        &[IGNORE, IGNORE_PARTS, PRINTABLE],
    ),
    ("2.32", "sn", "2.5.4.4", &[NAME]),
    ("2.33", "st", "2.5.4.8", &[NAME]),
    ("2.34", "street", "2.5.4.9", IGNORE_TEXT),
    ("2.35", "telephoneNumber", "2.5.4.20", PHONE),
    (
        "2.36",
        "teletexTerminalIdentifier",
        "2.5.4.22",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.51"],
    ),
    (
        "2.37",
        "telexNumber",
        "2.5.4.21",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.52"],
    ),
    ("2.38", "title", "2.5.4.12", &[NAME]),
    ("2.39", "uid", "0.9.2342.19200300.100.1.1", IGNORE_TEXT),
    (
        "2.40",
        "uniqueMember",
        "2.5.4.50",
        &[
            "EQUALITY uniqueMemberMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.34",
        ],
    ),
    (
        "2.41",
        "userPassword",
        "2.5.4.35",
        &[
            "EQUALITY octetStringMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.40",
        ],
    ),
    ("2.42", "x121Address", "2.5.4.24", NUMBER),
    (
        "2.43",
        "x500UniqueIdentifier",
        "2.5.4.45",
        &[
            "EQUALITY bitStringMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.6",
        ],
    ),
];

const OPERATIONAL: &str = "NO-USER-MODIFICATION";

const RFC4512: &[Row] = &[
    (
        "2.6.2",
        "aliasedObjectName",
        "2.5.4.1",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX, "SINGLE-VALUE"],
    ),
    (
        "3.3",
        "objectClass",
        "2.5.4.0",
        &[
            "EQUALITY objectIdentifierMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.38",
        ],
    ),
    (
        "3.4.1",
        "creatorsName",
        "2.5.18.3",
        &[
            "EQUALITY distinguishedNameMatch",
            DN_SYNTAX,
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "3.4.2",
        "createTimestamp",
        "2.5.18.1",
        &[
            "EQUALITY generalizedTimeMatch",
            "ORDERING generalizedTimeOrderingMatch",
            TIME,
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "3.4.3",
        "modifiersName",
        "2.5.18.4",
        &[
            "EQUALITY distinguishedNameMatch",
            DN_SYNTAX,
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "3.4.4",
        "modifyTimestamp",
        "2.5.18.2",
        &[
            "EQUALITY generalizedTimeMatch",
            "ORDERING generalizedTimeOrderingMatch",
            TIME,
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "3.4.5",
        "structuralObjectClass",
        "2.5.21.9",
        &[
            "EQUALITY objectIdentifierMatch",
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2",
        "subschemaSubentry",
        "2.5.18.10",
        &[
            "EQUALITY distinguishedNameMatch",
            DN_SYNTAX,
            "SINGLE-VALUE",
            OPERATIONAL,
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2.1",
        "objectClasses",
        "2.5.21.6",
        &[
            "EQUALITY objectIdentifierFirstComponentMatch",
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2.2",
        "attributeTypes",
        "2.5.21.5",
        &[
            "EQUALITY objectIdentifierFirstComponentMatch",
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2.3",
        "matchingRules",
        "2.5.21.4",
        &[
            "EQUALITY objectIdentifierFirstComponentMatch",
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2.4",
        "matchingRuleUse",
        "2.5.21.8",
        &[
            "EQUALITY objectIdentifierFirstComponentMatch",
            "USAGE directoryOperation",
        ],
    ),
    (
        "4.2.5",
        "ldapSyntaxes",
        "1.3.6.1.4.1.1466.101.120.16",
        &[
            "EQUALITY objectIdentifierFirstComponentMatch",
            "USAGE directoryOperation",
        ],
    ),
    (
        "5.1.1",
        "altServer",
        "1.3.6.1.4.1.1466.101.120.6",
        &["USAGE dSAOperation"],
    ),
    (
        "5.1.2",
        "namingContexts",
        "1.3.6.1.4.1.1466.101.120.5",
        &["USAGE dSAOperation"],
    ),
    (
        "5.1.3",
        "supportedControl",
        "1.3.6.1.4.1.1466.101.120.13",
        &["USAGE dSAOperation"],
    ),
    (
        "5.1.4",
        "supportedExtension",
        "1.3.6.1.4.1.1466.101.120.7",
        &["USAGE dSAOperation"],
    ),
    (
        "5.1.5",
        "supportedFeatures",
        "1.3.6.1.4.1.4203.1.3.5",
        &["EQUALITY objectIdentifierMatch", "USAGE dSAOperation"],
    ),
    (
        "5.1.6",
        "supportedLDAPVersion",
        "1.3.6.1.4.1.1466.101.120.15",
        &["USAGE dSAOperation"],
    ),
    (
        "5.1.7",
        "supportedSASLMechanisms",
        "1.3.6.1.4.1.1466.101.120.14",
        &["USAGE dSAOperation"],
    ),
];

const CLASSES_4519: &[Row] = &[
    (
        "3.1",
        "applicationProcess",
        "2.5.6.11",
        &["SUP top", "STRUCTURAL", "MUST cn"],
    ),
    (
        "3.2",
        "country",
        "2.5.6.2",
        &["SUP top", "STRUCTURAL", "MUST c"],
    ),
    (
        "3.3",
        "dcObject",
        "1.3.6.1.4.1.1466.344",
        &["SUP top", "AUXILIARY", "MUST dc"],
    ),
    (
        "3.4",
        "device",
        "2.5.6.14",
        &["SUP top", "STRUCTURAL", "MUST cn"],
    ),
    ("3.5", "groupOfNames", "2.5.6.9", &["SUP top", "STRUCTURAL"]),
    (
        "3.6",
        "groupOfUniqueNames",
        "2.5.6.17",
        &["SUP top", "STRUCTURAL"],
    ),
    ("3.7", "locality", "2.5.6.3", &["SUP top", "STRUCTURAL"]),
    (
        "3.8",
        "organization",
        "2.5.6.4",
        &["SUP top", "STRUCTURAL", "MUST o"],
    ),
    (
        "3.9",
        "organizationalPerson",
        "2.5.6.7",
        &["SUP person", "STRUCTURAL"],
    ),
    (
        "3.10",
        "organizationalRole",
        "2.5.6.8",
        &["SUP top", "STRUCTURAL", "MUST cn"],
    ),
    (
        "3.11",
        "organizationalUnit",
        "2.5.6.5",
        &["SUP top", "STRUCTURAL", "MUST ou"],
    ),
    ("3.12", "person", "2.5.6.6", &["SUP top", "STRUCTURAL"]),
    (
        "3.13",
        "residentialPerson",
        "2.5.6.10",
        &["SUP person", "STRUCTURAL", "MUST l"],
    ),
    (
        "3.14",
        "uidObject",
        "1.3.6.1.1.3.1",
        &["SUP top", "AUXILIARY", "MUST uid"],
    ),
];

const CLASSES_4512: &[Row] = &[
    ("2.4.1", "top", "2.5.6.0", &["ABSTRACT", "MUST objectClass"]),
    (
        "2.6.1",
        "alias",
        "2.5.6.1",
        &["SUP top", "STRUCTURAL", "MUST aliasedObjectName"],
    ),
    ("4.2", "subschema", "2.5.20.1", &["AUXILIARY"]),
    (
        "4.3",
        "extensibleObject",
        "1.3.6.1.4.1.1466.101.120.111",
        &["SUP top", "AUXILIARY"],
    ),
];

pub(crate) fn types(book: &mut Book, standard: &'static str, rows: &'static [Row], required: bool) {
    definitions(book, standard, rows, required, Need::Type);
}

pub(crate) fn classes(
    book: &mut Book,
    standard: &'static str,
    rows: &'static [Row],
    required: bool,
) {
    definitions(book, standard, rows, required, Need::Class);
}

fn definitions(
    book: &mut Book,
    standard: &'static str,
    rows: &'static [Row],
    required: bool,
    need: fn(&'static str) -> Need,
) {
    for (section, name, oid, words) in rows {
        let mut section = book.section(standard, section);
        let clause = section.clause(
            format_args!("defines-{}", name.to_lowercase()),
            format_args!("{name} is {oid}: {}.", words.join(", ")),
            move |it| {
                let definitions = &it.site.offers.definitions;
                let tokens = definitions.iter().map(|it| tokens(it));
                let Some(tokens) = tokens
                    .into_iter()
                    .find(|it| it.get(1).is_some_and(|it| it == oid))
                else {
                    return Finding::wrong(format_args!("a definition of {oid}"), "none");
                };
                let lower = name.to_lowercase();
                ensure(
                    tokens.contains(&lower),
                    format_args!("the name {name}"),
                    &tokens,
                )?;
                for word in *words {
                    ensure(defines(&tokens, word), word, tokens.join(" "))?;
                }
                Ok(())
            },
        );
        if !required {
            clause.needs(need(name));
        }
    }
}

/// Returns the words of a definition in lower case, without quotation marks and length bounds.
fn tokens(definition: &str) -> Vec<String> {
    let spaced = definition
        .to_lowercase()
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('\'', " ");
    let words = spaced.split_whitespace();
    words
        .map(|word| word.split('{').next().unwrap_or_default().to_owned())
        .collect()
}

/// Returns whether a definition has a flag, or a keyword with the value alone, in a list, or under
/// another name.
fn defines(tokens: &[String], word: &str) -> bool {
    let word = word.to_lowercase();
    let Some((keyword, value)) = word.split_once(' ') else {
        return tokens.contains(&word);
    };
    let Some(at) = tokens.iter().position(|it| *it == keyword) else {
        // A definition may omit `SUP top`, and `STRUCTURAL`.
        return value == "top";
    };
    let same = |it: &String| it == value || LONG_NAMES.contains(&(value, it.as_str()));
    match tokens.get(at + 1).map(String::as_str) {
        Some("(") => tokens[at + 2..]
            .iter()
            .take_while(|it| *it != ")")
            .any(same),
        Some(_) => same(&tokens[at + 1]),
        None => false,
    }
}

/// Names of equal attribute types.
const LONG_NAMES: &[(&str, &str)] = &[
    ("c", "countryname"),
    ("cn", "commonname"),
    ("dc", "domaincomponent"),
    ("l", "localityname"),
    ("o", "organizationname"),
    ("ou", "organizationalunitname"),
    ("uid", "userid"),
    ("co", "friendlycountryname"),
];
