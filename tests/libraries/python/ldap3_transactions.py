"""Transactions (RFC 5805) with ldap3's generic extended operations and controls."""

from expect import ADA, GRACE, arguments, equal, raises
from ldap3 import MODIFY_REPLACE
from ldap3.core import exceptions as errors
from ldap3.protocol.controls import build_control
from ldap3_site import attributes, connect
from pyasn1.type import namedtype, univ

START, SPECIFICATION, END = "1.3.6.1.1.21.1", "1.3.6.1.1.21.2", "1.3.6.1.1.21.3"


class Settled(univ.Sequence):
    """The value of an End Transaction request."""

    componentType = namedtype.NamedTypes(
        namedtype.DefaultedNamedType("commit", univ.Boolean(True)),
        namedtype.NamedType("identifier", univ.OctetString()),
    )


class Transaction:
    def __init__(self, connection):
        self.connection = connection
        connection.extended(START)
        self.identifier = connection.result["responseValue"]

    def modify(self, name, attribute, value):
        control = build_control(SPECIFICATION, True, self.identifier, encode_control_value=False)
        change = {attribute: [(MODIFY_REPLACE, [value])]}
        self.connection.modify(name, change, controls=[control])

    def end(self, commit):
        value = Settled()
        value["commit"], value["identifier"] = commit, self.identifier
        self.connection.extended(END, value)


def surnames(connection):
    return [attributes(connection, name, ["sn"])["sn"][0] for name in (ADA, GRACE)]


def main():
    [url] = arguments()
    admin, other = connect(url), connect(url)
    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", "Byron")
    transaction.modify(GRACE, "sn", "Hopper")
    equal("before the end", surnames(other), ["ada", "grace"])
    transaction.end(True)
    equal("committed", surnames(other), ["Byron", "Hopper"])
    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", "King")
    transaction.end(False)
    equal("aborted", surnames(other), ["Byron", "Hopper"])
    raises(errors.LDAPUnwillingToPerformResult, transaction.end, True)
    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", "King")
    transaction.modify("uid=missing," + GRACE, "sn", "Nobody")
    raises(errors.LDAPNoSuchObjectResult, transaction.end, True)
    equal("taken back", surnames(other), ["Byron", "Hopper"])


main()
