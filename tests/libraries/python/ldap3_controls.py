"""Controls with ldap3: with functions of the library, and without a value."""

import ldap3
from expect import ADA, GRACE, SUFFIX, arguments, equal, raises
from ldap3 import MODIFY_ADD, MODIFY_REPLACE
from ldap3.core import exceptions as errors
from ldap3.protocol.controls import build_control
from ldap3.protocol.rfc4527 import post_read_control, pre_read_control
from ldap3_site import connect

PRE_READ, POST_READ = "1.3.6.1.1.13.1", "1.3.6.1.1.13.2"
PERMISSIVE_MODIFY = "1.2.840.113556.1.4.1413"
PROXIED_AUTHORIZATION = "2.16.840.1.113730.3.4.18"
TREE_DELETE = "1.2.840.113556.1.4.805"


def plain(oid, value=None):
    return build_control(oid, True, value, encode_control_value=False)


def read_entry(admin):
    change = {"sn": [(MODIFY_REPLACE, ["Byron"])]}
    admin.modify(ADA, change, controls=[pre_read_control("sn"), post_read_control(["sn", "cn"])])
    controls = admin.result["controls"]
    equal("before", controls[PRE_READ]["value"]["result"], {"sn": ["ada"]})
    equal("after", controls[POST_READ]["value"]["result"], {"sn": ["Byron"], "cn": ["ada"]})


def of_writes(admin):
    again = {"sn": [(MODIFY_ADD, ["Byron"])]}
    raises(errors.LDAPAttributeOrValueExistsResult, admin.modify, ADA, again)
    admin.modify(ADA, again, controls=[plain(PERMISSIVE_MODIFY)])
    for name in ("ou=Old," + SUFFIX, "ou=Below,ou=Old," + SUFFIX):
        admin.add(name, "organizationalUnit")
    admin.delete("ou=Old," + SUFFIX, controls=[plain(TREE_DELETE)])
    raises(
        errors.LDAPNoSuchObjectResult,
        admin.search,
        "ou=Old," + SUFFIX,
        "(objectClass=*)",
        ldap3.BASE,
    )


def of_everything(admin, ada):
    as_ada = plain(PROXIED_AUTHORIZATION, "dn:" + ADA)
    equal("who am I", admin.extend.standard.who_am_i(controls=[as_ada]), "dn:" + ADA)
    raises(errors.LDAPInsufficientAccessRightsResult, admin.delete, GRACE, controls=[as_ada])
    as_grace = plain(PROXIED_AUTHORIZATION, "dn:" + GRACE)
    raises(errors.LDAPAuthorizationDeniedResult, ada.delete, GRACE, controls=[as_grace])
    unknown = plain("1.2.3.4.5")
    error = errors.LDAPUnavailableCriticalExtensionResult
    raises(error, admin.delete, GRACE, controls=[unknown])


def main():
    [url] = arguments()
    admin = connect(url)
    read_entry(admin)
    of_writes(admin)
    of_everything(admin, connect(url, ADA, "ada"))


main()
