"""Transactions (RFC 5805) with python-ldap's generic requests and controls."""

import ldap
from expect import ADA, ADMIN, GRACE, PASSWORD, arguments, equal, raises
from ldap.controls import RequestControl
from ldap.extop import ExtendedRequest
from pyasn1.codec.ber import encoder
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
        _, self.identifier = connection.extop_s(ExtendedRequest(START, None))

    def modify(self, name, attribute, value):
        control = RequestControl(SPECIFICATION, True, self.identifier)
        change = [(ldap.MOD_REPLACE, attribute, value)]
        self.connection.modify_ext_s(name, change, serverctrls=[control])

    def end(self, commit):
        value = Settled()
        value["commit"], value["identifier"] = commit, self.identifier
        return self.connection.extop_s(ExtendedRequest(END, encoder.encode(value)))


def surnames(connection):
    found = [connection.read_s(name, attrlist=["sn"]) for name in (ADA, GRACE)]
    return [entry["sn"][0] for entry in found]


def main():
    [url] = arguments()
    admin, other = ldap.initialize(url), ldap.initialize(url)
    for connection in (admin, other):
        connection.simple_bind_s(ADMIN, PASSWORD)
    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", b"Byron")
    transaction.modify(GRACE, "sn", b"Hopper")
    equal("before the end", surnames(other), [b"ada", b"grace"])
    transaction.end(True)
    equal("committed", surnames(other), [b"Byron", b"Hopper"])

    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", b"King")
    transaction.end(False)
    equal("aborted", surnames(other), [b"Byron", b"Hopper"])
    raises(ldap.UNWILLING_TO_PERFORM, transaction.end, True)

    transaction = Transaction(admin)
    transaction.modify(ADA, "sn", b"King")
    transaction.modify("uid=missing," + GRACE, "sn", b"Nobody")
    error = raises(ldap.NO_SUCH_OBJECT, transaction.end, True)
    equal("matched name", error.args[0].get("matched"), GRACE)
    equal("taken back", surnames(other), [b"Byron", b"Hopper"])


main()
