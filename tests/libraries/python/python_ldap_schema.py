"""python-ldap's parser reads every definition of the subschema, and prints them again."""

import ldap
import ldap.schema
from expect import arguments, equal, true
from ldap.schema import AttributeType, ObjectClass


def main():
    [url] = arguments()
    connection = ldap.initialize(url)
    name = connection.search_subschemasubentry_s()
    entry = connection.read_subschemasubentry_s(name)
    schema = ldap.schema.SubSchema(entry)
    equal("definitions with an OID of another", list(schema.non_unique_oids), [])
    equal("types", len(schema.listall(AttributeType)), len(entry["attributeTypes"]))
    equal("classes", len(schema.listall(ObjectClass)), len(entry["objectClasses"]))
    for oid in schema.listall(AttributeType):
        definition = schema.get_obj(AttributeType, oid)
        true(f"{oid} has a name", definition.names)
    surname = schema.get_obj(AttributeType, "surname")
    equal("oid", surname.oid, "2.5.4.4")
    equal("names", surname.names, ("sn", "surname"))
    equal("supertypes", surname.sup, ("name",))
    inherited = schema.get_inheritedobj(AttributeType, "sn", ["syntax", "equality"])
    equal("syntax", inherited.syntax, "1.3.6.1.4.1.1466.115.121.1.15")
    equal("equality", inherited.equality, "caseIgnoreMatch")
    must, may = schema.attribute_types(["inetOrgPerson"])
    equal("required", sorted(it.names[0] for it in must.values()), ["cn", "objectClass", "sn"])
    true("mail is allowed", "0.9.2342.19200300.100.1.3" in may)
    root = connection.read_rootdse_s()
    true("controls are announced", b"1.2.840.113556.1.4.319" in root["supportedControl"])


main()
