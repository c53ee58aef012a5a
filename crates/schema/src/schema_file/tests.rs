//! Schema files in the dialects of other servers.

use super::*;
use crate::schema::Schema;

/// A file in the style of mail administrators: macros on macros, tabs, comments in odd places.
const MAIL_ACCOUNT: &str = r"# Accounts of a mail server.
objectidentifier	exampleRoot	1.3.6.1.4.1.99999
objectIdentifier exampleLdap exampleRoot:2
objectIdentifier exampleMail EXAMPLELDAP:4

attributetype ( exampleMail:1 NAME 'maildrop'
	DESC 'where (in brackets) the mail goes'
	EQUALITY caseIgnoreIA5Match
# a comment in the middle
	SYNTAX 1.3.6.1.4.1.1466.115.121.1.26{512} )

attributeType (exampleMail:2
  NAME 'mailid' EQUALITY caseIgnoreIA5Match
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 SINGLE-VALUE
)
attributetype ( exampleMail:3 NAME 'mailquota' EQUALITY integerMatch
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
 attributetype ( exampleMail:4 NAME 'maildir' EQUALITY caseExactIA5Match
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 SINGLE-VALUE )

objectclass ( exampleLdap:5.1 NAME 'mailAccount' SUP top AUXILIARY
    MUST ( mailid $ maildrop )
    MAY ( mailquota $
          maildir ) )
";

fn oids(text: &str) -> Vec<String> {
    let definitions = read_schema_file(text).unwrap_or_else(|error| panic!("{error}"));
    definitions
        .iter()
        .map(|definition| definition.identifier())
        .collect()
}

#[test]
fn openldap_schema_with_nested_macros() {
    let definitions = read_schema_file(MAIL_ACCOUNT).unwrap_or_else(|error| panic!("{error}"));
    let identifiers: Vec<_> = definitions.iter().map(Definition::identifier).collect();
    let mail = "1.3.6.1.4.1.99999.2.4";
    assert_eq!(
        identifiers,
        [
            format!("{mail}.1"),
            format!("{mail}.2"),
            format!("{mail}.3"),
            format!("{mail}.4"),
            "1.3.6.1.4.1.99999.2.5.1".to_string(),
        ]
    );
    let schema = Schema::standard().extended(&definitions).unwrap();
    let class = schema.class_of(schema.object_class("mailAccount").unwrap());
    assert_eq!((class.must.len(), class.may.len()), (2, 2));
    let maildrop = schema.type_of(schema.attribute_type("MAILDROP").unwrap());
    assert_eq!(maildrop.definition.length, Some(512));
    let description = maildrop.definition.description.as_deref();
    assert_eq!(description, Some("where (in brackets) the mail goes"));
}

#[test]
fn macros_stand_for_syntaxes_too() {
    let text = "objectIdentifier syn 1.3.6.1.4.1.1466.115.121.1\n\
                objectIdentifier text syn:15\n\
                attributetype ( 1.2.3.1 NAME 'a' SYNTAX text{64} )\n\
                attributetype ( 1.2.3.2 NAME 'b' SYNTAX syn:27 )\n";
    let syntaxes: Vec<_> = read_schema_file(text)
        .unwrap()
        .into_iter()
        .map(|definition| match definition {
            Definition::AttributeType(it) => (it.syntax.unwrap(), it.length),
            other => panic!("{other}"),
        })
        .collect();
    let text = "1.3.6.1.4.1.1466.115.121.1.15".to_string();
    let integer = "1.3.6.1.4.1.1466.115.121.1.27".to_string();
    assert_eq!(syntaxes, [(text, Some(64)), (integer, None)]);
}

#[test]
fn openldap_configuration_ldif() {
    let text = "dn: cn=mail,cn=schema,cn=config
objectClass: olcSchemaConfig
cn: mail
olcObjectIdentifier: {0}exampleRoot 1.3.6.1.4.1.99999
olcObjectIdentifier: {1}exampleMail exampleRoot:2
olcAttributeTypes: {0}( exampleMail:1 NAME 'maildrop' EQUALITY caseIgnoreIA5Match SY
 NTAX 1.3.6.1.4.1.1466.115.121.1.26 )
olcAttributeTypes:: ezF9KCBleGFtcGxlTWFpbDoyIE5BTUUgJ21haWxpZCcgU1lOVEFYIDEuMy42LjEuN
 C4xLjE0NjYuMTE1LjEyMS4xLjI2ICk=
olcObjectClasses: {0}( exampleMail:3 NAME 'mailAccount' SUP top AUXILIARY MAY ( mail
 drop $ mailid ) )
structuralObjectClass: olcSchemaConfig
";
    let root = "1.3.6.1.4.1.99999.2";
    assert_eq!(
        oids(text),
        [
            format!("{root}.1"),
            format!("{root}.2"),
            format!("{root}.3")
        ]
    );
}

#[test]
fn ldif_of_389_and_opendj() {
    let text = "#
# comment, and its
 continuation
dn: cn=schema
objectClass: top
objectClass: ldapSubentry
attributeTypes: (
  1.2.3.1
  NAME 'a'
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15
  X-ORIGIN ( 'user defined' 'other' )
  )
attributetypes: ( b-oid NAME 'b' SYNTAX '1.3.6.1.4.1.1466.115.121.1.15' )
objectClasses: ( 1.2.3.3 NAME 'c' SUP 'top' MAY ( a $ b ) X-SCHEMA-FILE '99-user.ldif' )
nameForms: ( 1.2.3.4 NAME 'f' OC c MUST a )
dITStructureRules: ( 1 NAME 'r' FORM f )
dITContentRules: ( 1.2.3.3 NAME 'cr' MAY description )
matchingRuleUse: ( 2.5.13.2 NAME 'caseIgnoreMatch' APPLIES ( a $ b ) )
";
    let definitions = read_schema_file(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(definitions.len(), 7);
    let schema = Schema::standard().extended(&definitions).unwrap();
    assert!(schema.attribute_type("b-oid").is_some());
    assert_eq!(schema.name_forms().count(), 1);
    assert_eq!(schema.structure_rules().count(), 1);
    assert_eq!(schema.content_rules().count(), 1);
}

#[test]
fn ldif_changes_and_line_ends() {
    let text = "dn: cn=schema\r\nchangetype: modify\r\nadd: attributeTypes\r\n\
                attributeTypes: ( 1.2.3.1 NAME 'a'\r\n  SUP name )\r\n-\r\nadd: objectClasses\r\n\
                objectClasses: ( 1.2.3.2 NAME 'c' MAY a )\r\n-\r\n";
    assert_eq!(oids(text), ["1.2.3.1", "1.2.3.2"]);
}

#[test]
fn the_published_subschema_can_be_read_back() {
    let schema = Schema::standard();
    let mut text = "dn: cn=subschema\n".to_string();
    for (attribute, values) in schema.subschema() {
        for value in values {
            text.push_str(&format!("{attribute}: {value}\n"));
        }
    }
    let definitions = read_schema_file(&text).unwrap_or_else(|error| panic!("{error}"));
    let again = Schema::standard().extended(&definitions).unwrap();
    assert_eq!(
        again.attribute_types().count(),
        schema.attribute_types().count()
    );
    let whole = Schema::empty().extended(&definitions).unwrap();
    assert_eq!(whole.subschema(), schema.subschema());
}

#[test]
fn errors_name_the_line() {
    for (text, line, says) in [
        (
            "attributetype ( 1.2.3 NAME 'a'\n  SYNTAX 1.2.4\n  COLOUR blue )\n",
            3,
            "COLOUR",
        ),
        ("\n\nobjectclas ( 1.2.3 NAME 'a' )\n", 3, "objectclas"),
        (
            "attributetype ( 1.2.3 NAME 'a' SYNTAX 1.2.4\nobjectclass ( 1.2.5 )\n",
            1,
            ")",
        ),
        (
            "attributetype ( unheard:1 NAME 'a' SYNTAX 1.2.4 )\n",
            1,
            "unheard:1",
        ),
        ("objectIdentifier a\n", 1, "objectIdentifier NAME OID"),
        (
            "objectIdentifier a 1.2\nobjectIdentifier A 1.3\n",
            2,
            "stands for 1.2",
        ),
        (
            "dn: cn=schema\nattributeTypes: ( 1.2.3 NAME 'a'\n  SIZE 3 )\n",
            2,
            "SIZE",
        ),
        ("dn: cn=schema\nattributeTypes:: ***\n", 2, "base64"),
        ("dn: cn=schema\nnonsense\n", 2, "nonsense"),
    ] {
        let error = read_schema_file(text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.message.contains(says), "{text}: {error}");
    }
    assert_eq!(read_schema_file(""), Ok(Vec::new()));
    assert_eq!(read_schema_file("# nothing\n\n"), Ok(Vec::new()));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "([a-z]{1,3}|attributetype|objectIdentifier|[ \n\t()'{}:#0-9.$])*",
    ) {
        let _ = read_schema_file(&text);
    }
}

/// OpenLDAP's dsee.schema has such a line.
#[test]
fn one_mistake_is_one_definition() {
    let text = "attributeype ( 1.2.3.1 NAME 'a' )\n\
                attributetype ( 1.2.3.2 NAME 'b'\n\tSYNTAX )\n\
                objectclass ( 1.2.3.3 NAME 'c' )\n";
    let found = read_each_definition(text);
    let lines: Vec<(usize, bool)> = (found.iter())
        .map(|it| match it {
            Ok((line, _)) => (*line, true),
            Err(error) => (error.line, false),
        })
        .collect();
    assert_eq!(lines, [(1, false), (3, false), (4, true)]);
    assert_eq!(read_schema_file(text).unwrap_err().line, 1);
}
