"""Referrals with python-ldap: returned, followed, and managed."""

import ldap
from expect import ADMIN, PASSWORD, PEOPLE, SUFFIX, arguments, equal, raises, true
from ldap.controls.simple import ManageDSAITControl


def bound(url, follow):
    connection = ldap.initialize(url)
    connection.set_option(ldap.OPT_REFERRALS, follow)
    connection.simple_bind_s(ADMIN, PASSWORD)
    return connection


def returned(here, there):
    connection = bound(here, ldap.OPT_OFF)
    found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(|(uid=ada)(ou=Groups))", ["ou"])
    references = [urls for dn, urls in found if dn is None]
    equal("continuation references", references, [[f"{there}/{PEOPLE}??sub"]])
    equal("entries", [dn for dn, _ in found if dn], ["ou=Groups," + SUFFIX])
    error = raises(ldap.REFERRAL, connection.search_s, "uid=ada," + PEOPLE, ldap.SCOPE_BASE)
    equal("referral", error.args[0]["info"].split(), ["Referral:", f"{there}/uid=ada,{PEOPLE}??base"])
    raises(ldap.REFERRAL, connection.delete_s, "uid=ada," + PEOPLE)


def followed(here):
    # libldap binds anonymously where a referral leads to.
    connection = bound(here, ldap.OPT_ON)
    [(dn, came)] = connection.search_s("uid=ada," + PEOPLE, ldap.SCOPE_BASE, attrlist=["sn"])
    equal("ada", (dn, came), ("uid=ada," + PEOPLE, {"sn": [b"ada"]}))
    found = connection.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(|(uid=ada)(ou=Groups))", ["1.1"])
    names = sorted(dn for dn, _ in found if dn)
    # The other server has groups too, but below what the reference covers there are none.
    equal("names", names, ["ou=Groups," + SUFFIX, "uid=ada," + PEOPLE])
    equal("compare", connection.compare_s("uid=ada," + PEOPLE, "sn", "ada"), True)
    raises(ldap.INSUFFICIENT_ACCESS, connection.delete_s, "uid=ada," + PEOPLE)


def managed(here):
    connection = bound(here, ldap.OPT_OFF)
    itself = ManageDSAITControl(True)
    [(dn, came)] = connection.search_ext_s(PEOPLE, ldap.SCOPE_BASE, serverctrls=[itself])
    true("it is a referral object", b"referral" in came["objectClass"])
    change = [(ldap.MOD_REPLACE, "ref", b"ldap://elsewhere.example")]
    connection.modify_ext_s(PEOPLE, change, serverctrls=[itself])
    error = raises(ldap.REFERRAL, connection.search_s, PEOPLE, ldap.SCOPE_BASE)
    true("the new URL", "ldap://elsewhere.example" in error.args[0]["info"])
    connection.delete_ext_s(PEOPLE, serverctrls=[itself])
    raises(ldap.NO_SUCH_OBJECT, connection.search_s, PEOPLE, ldap.SCOPE_BASE)


def main():
    [here, there] = arguments()
    returned(here, there)
    followed(here)
    managed(here)


main()
