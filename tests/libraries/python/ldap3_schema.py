"""ldap3 reads the root DSE and every definition of the subschema."""

import ldap3
from expect import SUFFIX, arguments, equal, true
from ldap3_site import attributes, connect


def main():
    [url] = arguments()
    connection = connect(url, get_info=ldap3.ALL)
    info, schema = connection.server.info, connection.server.schema
    equal("naming contexts", info.naming_contexts, [SUFFIX])
    equal("versions", info.supported_ldap_versions, ["3"])
    true("pages are announced", "1.2.840.113556.1.4.319" in [it[0] for it in info.supported_controls])
    raw = attributes(connection, info.schema_entry[0], "+")
    for name, parsed in (
        ("attributeTypes", schema.attribute_types),
        ("objectClasses", schema.object_classes),
        ("matchingRules", schema.matching_rules),
        ("ldapSyntaxes", schema.ldap_syntaxes),
    ):
        equal(name, len({it.oid for it in parsed.values()}), len(raw[name]))
    surname = schema.attribute_types["surname"]
    equal("oid", surname.oid, "2.5.4.4")
    equal("names", surname.name, ["sn", "surname"])
    equal("supertype", surname.superior, ["name"])
    person = schema.object_classes["inetOrgPerson"]
    equal("superior", person.superior, ["organizationalPerson"])
    true("mail is allowed", "mail" in person.may_contain)
    # From what it learnt it can pretend to be the server.
    pretend = ldap3.Server.from_definition("pretend", connection.server.info, schema)
    equal("naming contexts", pretend.info.naming_contexts, [SUFFIX])


main()
