"""The life of an entry with ldap3, which knows the schema and gives values the types it says."""

import ldap3
from expect import ADA, ADMIN, GRACE, PEOPLE, SUFFIX, arguments, equal, raises, true
from ldap3 import MODIFY_ADD, MODIFY_DELETE, MODIFY_INCREMENT, MODIFY_REPLACE
from ldap3.core import exceptions as errors
from ldap3_site import attributes, connect, names

EVA = "uid=eva," + PEOPLE
HOME = "ou=Alumni," + SUFFIX
CLASSES = ["inetOrgPerson", "posixAccount"]
ENTRY = {
    "cn": ["Eva", "Eva Lu Ator"],
    "sn": "Lügner",
    "uidNumber": 1000,
    "gidNumber": 100,
    "homeDirectory": "/home/eva",
    "jpegPhoto": bytes(range(256)),
}


def birth(admin):
    admin.add(EVA, CLASSES, ENTRY)
    came = attributes(admin, EVA)
    equal("cn", sorted(came["cn"]), ["Eva", "Eva Lu Ator"])
    equal("sn", came["sn"], ["Lügner"])
    equal("uidNumber, an integer", came["uidNumber"], 1000)
    equal("homeDirectory, a single value", came["homeDirectory"], "/home/eva")
    equal("jpegPhoto", came["jpegPhoto"], [bytes(range(256))])
    equal("objectClass", sorted(came["objectClass"]), CLASSES)
    raises(errors.LDAPEntryAlreadyExistsResult, admin.add, EVA, CLASSES, ENTRY)
    equal("compare", admin.compare(EVA, "sn", "lügner"), True)
    equal("compare", admin.compare(EVA, "sn", "other"), False)
    raises(errors.LDAPNoSuchAttributeResult, admin.compare, EVA, "mail", "x@y.z")
    admin.search(SUFFIX, "(&(cn=eva*)(uidNumber>=1000))")
    equal("found", names(admin), [EVA])
    operational = attributes(admin, EVA, ldap3.ALL_OPERATIONAL_ATTRIBUTES)
    equal("creator", operational["creatorsName"], ADMIN)
    true("a time", operational["createTimestamp"].year >= 2024)


def changes(admin):
    admin.modify(
        EVA,
        {
            "mail": [(MODIFY_ADD, ["eva@example.com", "eva@example.org"])],
            "sn": [(MODIFY_REPLACE, ["Ator"])],
            "jpegPhoto": [(MODIFY_DELETE, [])],
            "uidNumber": [(MODIFY_INCREMENT, [5])],
        },
    )
    came = attributes(admin, EVA)
    equal("uidNumber", came["uidNumber"], 1005)
    equal("sn", came["sn"], ["Ator"])
    equal("mail", sorted(came["mail"]), ["eva@example.com", "eva@example.org"])
    true("the photo is gone", "jpegPhoto" not in came)


def refusals(admin):
    """Each refusal is an error of its own class, and changes nothing."""
    before = attributes(admin, EVA)

    def refused(error, attribute, operation, *values):
        raises(error, admin.modify, EVA, {attribute: [(operation, list(values))]})

    refused(errors.LDAPAttributeOrValueExistsResult, "sn", MODIFY_ADD, "ATOR")
    refused(errors.LDAPNoSuchAttributeResult, "description", MODIFY_DELETE, "x")
    refused(errors.LDAPObjectClassViolationResult, "sn", MODIFY_DELETE)
    refused(errors.LDAPNotAllowedOnRDNResult, "uid", MODIFY_DELETE, "eva")
    refused(errors.LDAPConstraintViolationResult, "uidNumber", MODIFY_ADD, 7)
    # The library does not send requests that the schema forbids.
    refused(errors.LDAPAttributeError, "noSuchType", MODIFY_ADD, "x")
    refused(errors.LDAPInvalidValueError, "uidNumber", MODIFY_REPLACE, "many")
    raises(errors.LDAPNotAllowedOnNotLeafResult, admin.delete, PEOPLE)
    error = raises(errors.LDAPNoSuchObjectResult, admin.delete, "cn=a,ou=b," + SUFFIX)
    equal("matched name", error.dn, SUFFIX)
    equal("what it was", attributes(admin, EVA), before)


def passwords(url, admin):
    admin.extend.standard.modify_password(EVA, new_password="first")
    raises(errors.LDAPInvalidCredentialsResult, connect, url, EVA, "wrong")
    eva = connect(url, EVA, "first")
    equal("who am I", eva.extend.standard.who_am_i(), "dn:" + EVA)
    made = admin.extend.standard.modify_password(EVA)
    # The administrator's change ends the connection, at a moment of the server's choice.
    raises(errors.LDAPInvalidCredentialsResult, connect, url, EVA, "first")
    eva = connect(url, EVA, made)
    true("changed", eva.extend.standard.modify_password(EVA, made, "second"))
    eva = connect(url, EVA, "second")
    raises(errors.LDAPInsufficientAccessRightsResult, eva.delete, GRACE)
    anonymous = connect(url, None, None)
    true("anonymous is nobody", not anonymous.extend.standard.who_am_i())


def moves_and_end(admin):
    admin.modify_dn(EVA, "uid=lu", delete_old_dn=False)
    renamed = "uid=lu," + PEOPLE
    equal("both names", sorted(attributes(admin, renamed)["uid"]), ["eva", "lu"])
    admin.add(HOME, "organizationalUnit")
    admin.modify_dn(renamed, "uid=lu+sn=Ator", new_superior=HOME)
    moved = "uid=lu+sn=Ator," + HOME
    equal("sn", attributes(admin, moved)["sn"], ["Ator"])
    raises(errors.LDAPNoSuchObjectResult, attributes, admin, EVA)
    raises(errors.LDAPEntryAlreadyExistsResult, admin.modify_dn, ADA, "uid=grace")
    admin.delete(moved)
    admin.delete(HOME)
    raises(errors.LDAPNoSuchObjectResult, attributes, admin, moved)


def as_objects(admin):
    """The layer in which entries are objects, and changes are collected and sent together."""
    person = ldap3.ObjectDef("inetOrgPerson", admin)
    reader = ldap3.Reader(admin, person, PEOPLE, "uid: ada;grace")
    reader.search()
    equal("found", sorted(entry.entry_dn for entry in reader), [ADA, GRACE])
    writer = ldap3.Writer.from_cursor(reader)
    for entry in writer:
        entry.title = "Dr."
    new = writer.new(EVA)
    new.cn, new.sn = "Eva", "Eva"
    true("all is written", writer.commit())
    equal("title", attributes(admin, GRACE)["title"], ["Dr."])
    equal("cn", attributes(admin, EVA)["cn"], ["Eva"])


def main():
    [url] = arguments()
    admin = connect(url, get_info=ldap3.ALL)
    equal("who am I", admin.extend.standard.who_am_i(), "dn:" + ADMIN)
    birth(admin)
    changes(admin)
    refusals(admin)
    passwords(url, admin)
    moves_and_end(admin)
    as_objects(admin)
    admin.unbind()


main()
