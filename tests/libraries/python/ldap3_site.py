"""Connections of ldap3 for the programs in this folder."""

import ldap3
from expect import ADMIN, PASSWORD


def connect(url, user=ADMIN, password=PASSWORD, **named):
    """A bound connection whose refusals are exceptions."""
    server = ldap3.Server(url, get_info=named.pop("get_info", ldap3.NONE))
    return ldap3.Connection(
        server, user, password, auto_bind=True, raise_exceptions=True, **named
    )


def names(connection):
    """Returns the DNs that the last search found."""
    return [it["dn"] for it in connection.response if it["type"] == "searchResEntry"]


def attributes(connection, name, wanted="*"):
    """Returns the attributes of one entry."""
    connection.search(name, "(objectClass=*)", ldap3.BASE, attributes=wanted)
    return connection.response[0]["attributes"]
