//! RFC 4524, RFC 4523 and RFC 2798: the definitions of COSINE, certificates and inetOrgPerson.

use crate::prelude::*;
use crate::schema::{
    DN_SYNTAX, IA5, IGNORE, IGNORE_TEXT, LINES, PHONE, Row, STRING, classes, types,
};

pub(crate) fn clauses(book: &mut Book) {
    types(book, "rfc4524", RFC4524, false);
    types(book, "rfc4523", RFC4523, false);
    types(book, "rfc2798", RFC2798, false);
    classes(book, "rfc4524", CLASSES_4524, false);
    classes(book, "rfc2798", CLASSES_2798, false);
}

const RFC4524: &[Row] = &[
    (
        "2.1",
        "associatedDomain",
        "0.9.2342.19200300.100.1.37",
        &["EQUALITY caseIgnoreIA5Match", IA5],
    ),
    (
        "2.2",
        "associatedName",
        "0.9.2342.19200300.100.1.38",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX],
    ),
    (
        "2.3",
        "buildingName",
        "0.9.2342.19200300.100.1.48",
        IGNORE_TEXT,
    ),
    ("2.4", "co", "0.9.2342.19200300.100.1.43", IGNORE_TEXT),
    (
        "2.5",
        "documentAuthor",
        "0.9.2342.19200300.100.1.14",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX],
    ),
    (
        "2.6",
        "documentIdentifier",
        "0.9.2342.19200300.100.1.11",
        IGNORE_TEXT,
    ),
    (
        "2.7",
        "documentLocation",
        "0.9.2342.19200300.100.1.15",
        IGNORE_TEXT,
    ),
    (
        "2.8",
        "documentPublisher",
        "0.9.2342.19200300.100.1.56",
        IGNORE_TEXT,
    ),
    (
        "2.9",
        "documentTitle",
        "0.9.2342.19200300.100.1.12",
        IGNORE_TEXT,
    ),
    (
        "2.10",
        "documentVersion",
        "0.9.2342.19200300.100.1.13",
        IGNORE_TEXT,
    ),
    ("2.11", "drink", "0.9.2342.19200300.100.1.5", IGNORE_TEXT),
    ("2.12", "homePhone", "0.9.2342.19200300.100.1.20", PHONE),
    (
        "2.13",
        "homePostalAddress",
        "0.9.2342.19200300.100.1.39",
        LINES,
    ),
    ("2.14", "host", "0.9.2342.19200300.100.1.9", IGNORE_TEXT),
    ("2.15", "info", "0.9.2342.19200300.100.1.4", IGNORE_TEXT),
    (
        "2.16",
        "mail",
        "0.9.2342.19200300.100.1.3",
        &[
            "EQUALITY caseIgnoreIA5Match",
            "SUBSTR caseIgnoreIA5SubstringsMatch",
            IA5,
        ],
    ),
    (
        "2.17",
        "manager",
        "0.9.2342.19200300.100.1.10",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX],
    ),
    ("2.18", "mobile", "0.9.2342.19200300.100.1.41", PHONE),
    (
        "2.19",
        "organizationalStatus",
        "0.9.2342.19200300.100.1.45",
        IGNORE_TEXT,
    ),
    ("2.20", "pager", "0.9.2342.19200300.100.1.42", PHONE),
    (
        "2.21",
        "personalTitle",
        "0.9.2342.19200300.100.1.40",
        IGNORE_TEXT,
    ),
    (
        "2.22",
        "roomNumber",
        "0.9.2342.19200300.100.1.6",
        IGNORE_TEXT,
    ),
    (
        "2.23",
        "secretary",
        "0.9.2342.19200300.100.1.21",
        &["EQUALITY distinguishedNameMatch", DN_SYNTAX],
    ),
    (
        "2.24",
        "uniqueIdentifier",
        "0.9.2342.19200300.100.1.44",
        &[IGNORE, STRING],
    ),
    (
        "2.25",
        "userClass",
        "0.9.2342.19200300.100.1.8",
        IGNORE_TEXT,
    ),
];

const RFC4523: &[Row] = &[
    (
        "4.1",
        "userCertificate",
        "2.5.4.36",
        &[
            "EQUALITY certificateExactMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.8",
        ],
    ),
    (
        "4.2",
        "cACertificate",
        "2.5.4.37",
        &[
            "EQUALITY certificateExactMatch",
            "SYNTAX 1.3.6.1.4.1.1466.115.121.1.8",
        ],
    ),
    (
        "4.3",
        "crossCertificatePair",
        "2.5.4.40",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.10"],
    ),
    (
        "4.4",
        "certificateRevocationList",
        "2.5.4.39",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.9"],
    ),
    (
        "4.5",
        "authorityRevocationList",
        "2.5.4.38",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.9"],
    ),
    (
        "4.6",
        "deltaRevocationList",
        "2.5.4.53",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.9"],
    ),
    (
        "4.7",
        "supportedAlgorithms",
        "2.5.4.52",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.49"],
    ),
];

const RFC2798: &[Row] = &[
    ("2.1", "carLicense", "2.16.840.1.113730.3.1.1", IGNORE_TEXT),
    (
        "2.2",
        "departmentNumber",
        "2.16.840.1.113730.3.1.2",
        IGNORE_TEXT,
    ),
    (
        "2.3",
        "displayName",
        "2.16.840.1.113730.3.1.241",
        &[IGNORE, STRING, "SINGLE-VALUE"],
    ),
    (
        "2.4",
        "employeeNumber",
        "2.16.840.1.113730.3.1.3",
        &[IGNORE, STRING, "SINGLE-VALUE"],
    ),
    (
        "2.5",
        "employeeType",
        "2.16.840.1.113730.3.1.4",
        IGNORE_TEXT,
    ),
    (
        "2.6",
        "jpegPhoto",
        "0.9.2342.19200300.100.1.60",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.28"],
    ),
    (
        "2.7",
        "preferredLanguage",
        "2.16.840.1.113730.3.1.39",
        &[IGNORE, STRING, "SINGLE-VALUE"],
    ),
    (
        "2.8",
        "userSMIMECertificate",
        "2.16.840.1.113730.3.1.40",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.5"],
    ),
    (
        "2.9",
        "userPKCS12",
        "2.16.840.1.113730.3.1.216",
        &["SYNTAX 1.3.6.1.4.1.1466.115.121.1.5"],
    ),
];

const CLASSES_4524: &[Row] = &[
    (
        "3.1",
        "account",
        "0.9.2342.19200300.100.4.5",
        &["SUP top", "STRUCTURAL", "MUST uid"],
    ),
    (
        "3.2",
        "document",
        "0.9.2342.19200300.100.4.6",
        &["SUP top", "STRUCTURAL", "MUST documentIdentifier"],
    ),
    (
        "3.3",
        "documentSeries",
        "0.9.2342.19200300.100.4.9",
        &["SUP top", "STRUCTURAL", "MUST cn"],
    ),
    (
        "3.4",
        "domain",
        "0.9.2342.19200300.100.4.13",
        &["SUP top", "STRUCTURAL", "MUST dc"],
    ),
    (
        "3.5",
        "domainRelatedObject",
        "0.9.2342.19200300.100.4.17",
        &["SUP top", "AUXILIARY", "MUST associatedDomain"],
    ),
    (
        "3.6",
        "friendlyCountry",
        "0.9.2342.19200300.100.4.18",
        &["SUP country", "STRUCTURAL", "MUST co"],
    ),
    (
        "3.7",
        "rFC822localPart",
        "0.9.2342.19200300.100.4.14",
        &["SUP domain", "STRUCTURAL"],
    ),
    (
        "3.8",
        "room",
        "0.9.2342.19200300.100.4.7",
        &["SUP top", "STRUCTURAL", "MUST cn"],
    ),
    (
        "3.9",
        "simpleSecurityObject",
        "0.9.2342.19200300.100.4.19",
        &["SUP top", "AUXILIARY", "MUST userPassword"],
    ),
];

const CLASSES_2798: &[Row] = &[(
    "3",
    "inetOrgPerson",
    "2.16.840.1.113730.3.2.2",
    &["SUP organizationalPerson", "STRUCTURAL"],
)];
