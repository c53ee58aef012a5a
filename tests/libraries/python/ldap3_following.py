"""Persistent search with ldap3."""

import ldap3
from expect import PEOPLE, arguments, equal
from ldap3_site import connect

EVA, LU = "uid=eva," + PEOPLE, "uid=lu," + PEOPLE


def main():
    [url] = arguments()
    admin, watch = connect(url), connect(url, client_strategy=ldap3.ASYNC_STREAM)
    stream = watch.extend.standard.persistent_search(
        PEOPLE, "(uid=*)", attributes="sn", changes_only=True, notifications=True, streaming=False
    )
    # A later request on the same connection is answered: the search has begun.
    watch.get_response(watch.compare(PEOPLE, "ou", "People"))

    def told():
        event = stream.next(block=True, timeout=60)
        before = event["previousDN"]
        return event["changeType"], event["dn"], before and str(before)

    admin.add(EVA, "inetOrgPerson", {"cn": "Eva", "sn": "Eva"})
    equal("added", told(), ("add", EVA, None))
    admin.modify(EVA, {"sn": [(ldap3.MODIFY_REPLACE, ["Ator"])]})
    equal("modified", told(), ("modify", EVA, None))
    admin.modify_dn(EVA, "uid=lu")
    equal("renamed", told(), ("modify dn", LU, EVA))
    admin.delete(LU)
    equal("deleted", told(), ("delete", LU, None))
    stream.stop()


main()
