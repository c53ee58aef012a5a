"""Pages and sorting of three thousand people with ldap3."""

from expect import PEOPLE, arguments, equal, raises, true
from ldap3.core import exceptions as errors
from ldap3.protocol.controls import build_control
from ldap3_site import connect
from pyasn1.type import namedtype, univ

ALL = sorted(f"p{number}" for number in range(3000))
PAGES, SORT = "1.2.840.113556.1.4.319", "1.2.840.113556.1.4.473"


class SortKey(univ.Sequence):
    componentType = namedtype.NamedTypes(namedtype.NamedType("type", univ.OctetString()))


def sorted_by(attribute):
    """ldap3 has no class for server-side sorting; it takes values of pyasn1."""
    key, keys = SortKey(), univ.SequenceOf(componentType=SortKey())
    key["type"] = attribute
    keys[0] = key
    return build_control(SORT, True, keys)


def uids(found):
    return [entry["attributes"]["uid"][0] for entry in found]


def by_hand(connection):
    came, cookie = [], None
    while cookie != b"":
        connection.search(
            PEOPLE, "(uid=*)", attributes="uid", paged_size=700, paged_cookie=cookie
        )
        came += uids(connection.response)
        cookie = connection.result["controls"][PAGES]["value"]["cookie"]
    equal("uids", sorted(came), ALL)


def by_generator(connection):
    pages = connection.extend.standard.paged_search
    found = pages(PEOPLE, "(uid=*)", attributes="uid", paged_size=500, generator=True)
    equal("uids", sorted(uids(found)), ALL)
    found = pages(
        PEOPLE,
        "(uid=*)",
        attributes="uid",
        paged_size=500,
        generator=False,
        controls=[sorted_by("uid")],
    )
    # The pages are in order; ldap3 takes the entries of each from its end.
    came = uids(found)
    equal("uids", came, [uid for at in range(0, 3000, 500) for uid in ALL[at : at + 500][::-1]])


def main():
    [url] = arguments()
    connection = connect(url)
    by_hand(connection)
    by_generator(connection)
    connection.search(PEOPLE, "(uid=*)", attributes="uid", controls=[sorted_by("uid")])
    equal("sorted", uids(connection.response), ALL)
    search = connection.search
    unknown = [sorted_by("noSuchType")]
    error = errors.LDAPUnavailableCriticalExtensionResult
    raises(error, search, PEOPLE, "(uid=*)", controls=unknown)
    connection.search(PEOPLE, "(uid=p1*)", attributes="uid", size_limit=2)
    equal("result", connection.result["description"], "sizeLimitExceeded")
    true("no more than that", len(connection.response) == 2)


main()
