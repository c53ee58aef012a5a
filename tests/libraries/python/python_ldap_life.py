"""The life of an entry with python-ldap."""

import ldap
import ldap.modlist
from expect import ADA, ADMIN, GRACE, PASSWORD, PEOPLE, SUFFIX, arguments, equal, raises, true

EVA = "uid=eva," + PEOPLE
HOME = "ou=Alumni," + SUFFIX
ENTRY = {
    "objectClass": [b"inetOrgPerson", b"posixAccount"],
    "uid": [b"eva"],
    "cn": [b"Eva", "Eva Lu Ator".encode()],
    "sn": ["Lügner".encode()],
    "uidNumber": [b"1000"],
    "gidNumber": [b"100"],
    "homeDirectory": [b"/home/eva"],
    "jpegPhoto": [bytes(range(256))],
}


def read(connection, name):
    [(dn, attributes)] = connection.search_s(name, ldap.SCOPE_BASE)
    equal("the name", dn, name)
    return attributes


def birth(connection):
    connection.add_s(EVA, ldap.modlist.addModlist(ENTRY))
    came = read(connection, EVA)
    equal("attributes", sorted(came), sorted(ENTRY))
    for attribute, values in ENTRY.items():
        equal(attribute, sorted(came[attribute]), sorted(values))
    error = raises(ldap.ALREADY_EXISTS, connection.add_s, EVA, ldap.modlist.addModlist(ENTRY))
    equal("result code", error.args[0]["result"], 68)
    equal("compare", connection.compare_s(EVA, "sn", "lügner"), True)
    equal("compare", connection.compare_s(EVA, "sn", "other"), False)
    raises(ldap.NO_SUCH_ATTRIBUTE, connection.compare_s, EVA, "mail", "x@y.z")
    found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(&(cn=eva*)(uidNumber>=1000))", ["uid"])
    equal("found", found, [(EVA, {"uid": [b"eva"]})])
    equal("unique", connection.find_unique_entry(SUFFIX, filterstr="(uid=eva)")[0], EVA)


def changes(connection):
    connection.modify_s(
        EVA,
        [
            (ldap.MOD_ADD, "mail", [b"eva@example.com", b"eva@example.org"]),
            (ldap.MOD_REPLACE, "sn", b"Ator"),
            (ldap.MOD_DELETE, "jpegPhoto", None),
            (ldap.MOD_INCREMENT, "uidNumber", b"5"),
        ],
    )
    came = read(connection, EVA)
    equal("uidNumber", came["uidNumber"], [b"1005"])
    equal("sn", came["sn"], [b"Ator"])
    equal("mail", sorted(came["mail"]), [b"eva@example.com", b"eva@example.org"])
    true("the photo is gone", "jpegPhoto" not in came)
    wanted = dict(came, mail=[b"eva@example.net"])
    connection.modify_s(EVA, ldap.modlist.modifyModlist(came, wanted))
    equal("mail", read(connection, EVA)["mail"], [b"eva@example.net"])


def refusals(connection):
    """Each refusal is an error of its own class, and changes nothing."""
    before = read(connection, EVA)
    modify = connection.modify_s
    raises(ldap.TYPE_OR_VALUE_EXISTS, modify, EVA, [(ldap.MOD_ADD, "sn", b"ATOR")])
    raises(ldap.NO_SUCH_ATTRIBUTE, modify, EVA, [(ldap.MOD_DELETE, "description", b"x")])
    raises(ldap.UNDEFINED_TYPE, modify, EVA, [(ldap.MOD_ADD, "noSuchType", b"x")])
    raises(ldap.INVALID_SYNTAX, modify, EVA, [(ldap.MOD_REPLACE, "uidNumber", b"many")])
    raises(ldap.OBJECT_CLASS_VIOLATION, modify, EVA, [(ldap.MOD_DELETE, "sn", None)])
    raises(ldap.NOT_ALLOWED_ON_RDN, modify, EVA, [(ldap.MOD_DELETE, "uid", b"eva")])
    raises(ldap.CONSTRAINT_VIOLATION, modify, EVA, [(ldap.MOD_ADD, "uidNumber", b"7")])
    raises(ldap.NOT_ALLOWED_ON_NONLEAF, connection.delete_s, PEOPLE)
    raises(ldap.INVALID_DN_SYNTAX, connection.delete_s, "no name")
    error = raises(ldap.NO_SUCH_OBJECT, connection.delete_s, "cn=a,ou=b," + SUFFIX)
    equal("matched name", error.args[0]["matched"], SUFFIX)
    equal("what it was", read(connection, EVA), before)


def passwords(url, admin):
    admin.passwd_s(EVA, None, "first")
    eva = ldap.initialize(url)
    raises(ldap.INVALID_CREDENTIALS, eva.simple_bind_s, EVA, "wrong")
    eva.simple_bind_s(EVA, "first")
    equal("who am I", eva.whoami_s(), "dn:" + EVA)
    _, made = admin.passwd_s(EVA, None, None, extract_newpw=True)
    # The administrator's change ends the connection, at a moment of the server's choice.
    eva = ldap.initialize(url)
    raises(ldap.INVALID_CREDENTIALS, eva.simple_bind_s, EVA, "first")
    eva.simple_bind_s(EVA, made.genPasswd)
    eva.passwd_s(EVA, made.genPasswd, "second")
    eva.simple_bind_s(EVA, "second")
    raises(ldap.INSUFFICIENT_ACCESS, eva.delete_s, GRACE)
    raises(ldap.UNWILLING_TO_PERFORM, eva.simple_bind_s, EVA, "")
    eva.simple_bind_s()
    equal("who am I", eva.whoami_s(), "")
    eva.unbind_s()


def moves_and_end(connection):
    connection.rename_s(EVA, "uid=lu", delold=0)
    renamed = "uid=lu," + PEOPLE
    equal("both names", sorted(read(connection, renamed)["uid"]), [b"eva", b"lu"])
    classes = [b"organizationalUnit"]
    connection.add_s(HOME, [("objectClass", classes), ("ou", [b"Alumni"])])
    connection.rename_s(renamed, "uid=lu+sn=Ator", newsuperior=HOME)
    moved = "uid=lu+sn=Ator," + HOME
    equal("one name", sorted(read(connection, moved)["uid"]), [b"eva"] + [b"lu"])
    raises(ldap.NO_SUCH_OBJECT, connection.search_s, EVA, ldap.SCOPE_BASE)
    raises(ldap.ALREADY_EXISTS, connection.rename_s, ADA, "uid=grace")
    connection.delete_s(moved)
    connection.delete_s(HOME)
    raises(ldap.NO_SUCH_OBJECT, connection.search_s, moved, ldap.SCOPE_BASE)


def many_at_once(connection):
    """Requests without waiting, answered in any order; one of them given up."""
    ids = [connection.search(SUFFIX, ldap.SCOPE_SUBTREE, f"(uid={uid})") for uid in ("ada", "grace")]
    connection.abandon(connection.search(SUFFIX, ldap.SCOPE_SUBTREE))
    names = {connection.result(number)[1][0][0] for number in reversed(ids)}
    equal("found", names, {ADA, GRACE})
    raises(ldap.NO_SUCH_OPERATION, connection.cancel_s, 4711)


def main():
    [url] = arguments()
    admin = ldap.initialize(url)
    admin.simple_bind_s(ADMIN, PASSWORD)
    equal("who am I", admin.whoami_s(), "dn:" + ADMIN)
    equal("naming contexts", admin.get_naming_contexts(), [SUFFIX.encode()])
    birth(admin)
    changes(admin)
    refusals(admin)
    passwords(url, admin)
    moves_and_end(admin)
    many_at_once(admin)
    admin.unbind_s()


main()
