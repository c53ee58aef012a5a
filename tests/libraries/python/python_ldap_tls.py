"""TLS from the first byte and on request with python-ldap, and an untrusted certificate."""

import ldap
from expect import ADA, arguments, equal, raises, true


def connect(url, certificate):
    connection = ldap.initialize(url)
    if certificate:
        connection.set_option(ldap.OPT_X_TLS_CACERTFILE, certificate)
    connection.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
    connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    return connection


def main():
    [plain, secure, certificate] = arguments()
    connection = connect(secure, certificate)
    connection.simple_bind_s(ADA, "ada")
    equal("who am I", connection.whoami_s(), "dn:" + ADA)
    connection = connect(plain, certificate)
    connection.start_tls_s()
    true("the connection is secure", connection.get_option(ldap.OPT_X_TLS_VERSION))
    connection.simple_bind_s(ADA, "ada")
    equal("who am I", connection.whoami_s(), "dn:" + ADA)
    raises(ldap.SERVER_DOWN, connect(secure, None).whoami_s)
    raises(ldap.CONNECT_ERROR, connect(plain, None).start_tls_s)


main()
