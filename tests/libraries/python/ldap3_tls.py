"""TLS from the first byte and on request with ldap3, and an untrusted certificate."""

import ssl

import ldap3
from expect import ADA, arguments, equal, raises, true
from ldap3.core import exceptions as errors


def connect(url, certificate=None):
    tls = ldap3.Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=certificate)
    server = ldap3.Server(url, tls=tls, get_info=ldap3.NONE)
    return ldap3.Connection(server, ADA, "ada", raise_exceptions=True)


def main():
    [plain, secure, certificate] = arguments()
    connection = connect(secure, certificate)
    true("bound", connection.bind())
    equal("who am I", connection.extend.standard.who_am_i(), "dn:" + ADA)
    connection = connect(plain, certificate)
    true("TLS has started", connection.start_tls())
    true("bound", connection.bind())
    equal("who am I", connection.extend.standard.who_am_i(), "dn:" + ADA)
    raises(errors.LDAPSocketOpenError, connect(secure).bind)
    stranger = connect(plain)
    stranger.open()
    raises(errors.LDAPStartTLSError, stranger.start_tls)


main()
