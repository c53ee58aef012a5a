"""Pages, sorting and list views of three thousand people with python-ldap."""

import ldap
from expect import ADMIN, PASSWORD, PEOPLE, arguments, equal, raises, true
from ldap.controls import SimplePagedResultsControl
from ldap.controls.sss import SSSRequestControl, SSSResponseControl
from ldap.controls.vlv import VLVRequestControl, VLVResponseControl

ALL = sorted(f"p{number}" for number in range(3000))


def search(connection, controls, filterstr="(objectClass=person)", attributes=("uid",)):
    """The people's uids, and the response controls by class."""
    number = connection.search_ext(
        PEOPLE, ldap.SCOPE_ONELEVEL, filterstr, list(attributes), serverctrls=controls
    )
    _, found, _, answers = connection.result3(number)
    uids = [attributes["uid"][0].decode() for _, attributes in found]
    return uids, {type(control): control for control in answers}


def pages(connection, extra=()):
    """All uids, page by page."""
    paged = SimplePagedResultsControl(True, 500, "")
    uids, rounds = [], 0
    while True:
        page, answers = search(connection, [paged, *extra])
        true("a page holds what was asked for", len(page) == 500)
        uids += page
        rounds += 1
        paged.cookie = answers[SimplePagedResultsControl].cookie
        if not paged.cookie:
            equal("rounds", rounds, 6)
            return uids


def sorting(connection):
    order = SSSRequestControl(True, ["-uid"])
    uids, answers = search(connection, [order])
    equal("uids", uids, ALL[::-1])
    equal("sort result", answers[SSSResponseControl].sortResult, 0)
    by_rule = SSSRequestControl(True, ["sn", "uid:caseIgnoreOrderingMatch"])
    equal("uids", search(connection, [by_rule])[0], ALL)
    equal("sorted pages", pages(connection, [SSSRequestControl(True, ["uid"])]), ALL)
    unknown = SSSRequestControl(True, ["noSuchType"])
    raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION, search, connection, [unknown])
    unknown = SSSRequestControl(False, ["noSuchType"])
    uids, answers = search(connection, [unknown])
    equal("how many", len(uids), 3000)
    equal("sort result", answers[SSSResponseControl].sortResult, 16)
    equal("attribute", str(answers[SSSResponseControl].attributeType), "noSuchType")


def views(connection):
    order = SSSRequestControl(True, ["uid"])
    view = VLVRequestControl(True, before_count=2, after_count=3, offset=1000, content_count=0)
    uids, answers = search(connection, [order, view])
    equal("the window", uids, ALL[997:1003])
    came = answers[VLVResponseControl]
    equal("its place", (came.targetPosition, came.contentCount, came.result), (1000, 3000, 0))
    by_value = VLVRequestControl(
        True, after_count=4, greater_than_or_equal="p2500", context_id=came.contextID
    )
    uids, answers = search(connection, [order, by_value])
    place = ALL.index("p2500")
    equal("the window", uids, ALL[place : place + 5])
    equal("its place", answers[VLVResponseControl].targetPosition, place + 1)


def main():
    [url] = arguments()
    connection = ldap.initialize(url)
    connection.simple_bind_s(ADMIN, PASSWORD)
    equal("pages", sorted(pages(connection)), ALL)
    sorting(connection)
    views(connection)


main()
