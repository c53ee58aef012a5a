"""Referrals with ldap3: returned, followed as the same user, and managed.

ldap3 follows referrals in results; continuation references it only returns.
"""

import ldap3
from expect import ADMIN, PASSWORD, PEOPLE, SUFFIX, arguments, equal, raises
from ldap3.core import exceptions as errors
from ldap3.protocol.controls import build_control
from ldap3_site import attributes, connect, names

ADA = "uid=ada," + PEOPLE
MANAGE_DSA_IT = "2.16.840.1.113730.3.4.2"


def returned(here, there):
    connection = connect(here, auto_referrals=False)
    connection.search(SUFFIX, "(|(uid=ada)(ou=Groups))")
    equal("entries", names(connection), ["ou=Groups," + SUFFIX])
    references = [it["uri"] for it in connection.response if it["type"] == "searchResRef"]
    equal("continuation references", references, [[f"{there}/{PEOPLE}??sub"]])
    # A referral is no exception.
    connection.search(ADA, "(objectClass=*)", ldap3.BASE)
    equal("result", connection.result["description"], "referral")
    equal("referrals", connection.result["referrals"], [f"{there}/{ADA}??base"])
    equal("deleted", connection.delete(ADA), False)
    equal("referrals", connection.result["referrals"], [f"{there}/{ADA}"])


def followed(here):
    hosts = [("127.0.0.1", True)]
    server = ldap3.Server(here, get_info=ldap3.NONE, allowed_referral_hosts=hosts)
    connection = ldap3.Connection(server, ADMIN, PASSWORD, auto_bind=True, raise_exceptions=True)
    equal("ada", attributes(connection, ADA, ["sn"])["sn"], ["ada"])
    connection.modify(ADA, {"sn": [(ldap3.MODIFY_REPLACE, ["Byron"])]})
    equal("ada", attributes(connection, ADA, ["sn"])["sn"], ["Byron"])
    connection.add("uid=eva," + PEOPLE, "inetOrgPerson", {"cn": "Eva", "sn": "Eva"})
    connection.delete("uid=eva," + PEOPLE)


def managed(here):
    connection = connect(here, auto_referrals=False)
    itself = [build_control(MANAGE_DSA_IT, True, None)]
    search = (PEOPLE, "(objectClass=*)", ldap3.BASE)
    connection.search(*search, attributes="ref", controls=itself)
    equal("entry", names(connection), [PEOPLE])
    connection.delete(PEOPLE, controls=itself)
    raises(errors.LDAPNoSuchObjectResult, connection.search, *search)


def main():
    [here, there] = arguments()
    returned(here, there)
    followed(here)
    managed(here)


main()
