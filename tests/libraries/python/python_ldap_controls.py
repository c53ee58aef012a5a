"""The controls for which python-ldap has classes, and some that need none."""

import ldap
from expect import ADA, ADMIN, GRACE, GROUPS, PASSWORD, PEOPLE, SUFFIX, arguments, equal, raises, true
from ldap.controls import AssertionControl, LDAPControl, MatchedValuesControl
from ldap.controls.deref import DereferenceControl
from ldap.controls.readentry import PostReadControl, PreReadControl
from ldap.controls.sessiontrack import (
    SESSION_TRACKING_FORMAT_OID_USERNAME,
    SessionTrackingControl,
)
from ldap.controls.simple import (
    AuthorizationIdentityRequestControl,
    AuthorizationIdentityResponseControl,
    BooleanControl,
    ProxyAuthzControl,
    RelaxRulesControl,
    ValueLessRequestControl,
)
from ldap.extop import ExtendedRequest
from ldap.extop.dds import RefreshRequest, RefreshResponse

DONT_USE_COPY = "1.3.6.1.1.22"
NO_OP = "1.3.6.1.4.1.4203.666.5.2"
PERMISSIVE_MODIFY = "1.2.840.113556.1.4.1413"
SUBENTRIES = "1.3.6.1.4.1.4203.1.10.1"
TREE_DELETE = "1.2.840.113556.1.4.805"
WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3"
UNIT = [("objectClass", [b"organizationalUnit"])]


def of_writes(admin):
    only_if = AssertionControl(True, "(employeeNumber=1815)")
    before, after = PreReadControl(True, ["sn"]), PostReadControl(True, ["sn", "entryUUID"])
    change = [(ldap.MOD_REPLACE, "sn", b"Byron")]
    number = admin.modify_ext(ADA, change, serverctrls=[only_if, before, after])
    _, _, _, answers = admin.result3(number)
    read = {type(control): control for control in answers}
    equal("before", read[PreReadControl].entry, {"sn": [b"ada"]})
    equal("after", read[PostReadControl].entry["sn"], [b"Byron"])
    equal("entryUUID", len(read[PostReadControl].entry["entryUUID"][0]), 36)
    equal("whose", read[PostReadControl].dn, ADA)
    raises(ldap.ASSERTION_FAILED, admin.modify_ext_s, GRACE, change, serverctrls=[only_if])
    dry_run = ValueLessRequestControl(NO_OP, True)
    # libldap has no name for result code 16654.
    error = raises(ldap.LDAPError, admin.delete_ext_s, GRACE, serverctrls=[dry_run])
    equal("result code", error.args[0]["result"], 16654)
    again = [(ldap.MOD_ADD, "sn", b"Byron")]
    raises(ldap.TYPE_OR_VALUE_EXISTS, admin.modify_s, ADA, again)
    admin.modify_ext_s(ADA, again, serverctrls=[ValueLessRequestControl(PERMISSIVE_MODIFY, True)])
    name, uuid = "ou=Old," + SUFFIX, b"01234567-89ab-4def-8123-456789abcdef"
    old = [*UNIT, ("ou", [b"Old"]), ("entryUUID", [uuid])]
    raises(ldap.CONSTRAINT_VIOLATION, admin.add_s, name, old)
    admin.add_ext_s(name, old, serverctrls=[RelaxRulesControl()])
    [(_, came)] = admin.search_s(name, ldap.SCOPE_BASE, attrlist=["entryUUID"])
    equal("entryUUID", came["entryUUID"], [uuid])
    admin.add_s("ou=Below," + name, [*UNIT, ("ou", [b"Below"])])
    raises(ldap.NOT_ALLOWED_ON_NONLEAF, admin.delete_s, name)
    admin.delete_ext_s(name, serverctrls=[ValueLessRequestControl(TREE_DELETE, True)])
    raises(ldap.NO_SUCH_OBJECT, admin.search_s, name, ldap.SCOPE_BASE)


def of_reads(admin):
    wanted = MatchedValuesControl(True, "(description=goto*)")
    uid = "(uid=edsger)"
    [(_, came)] = admin.search_ext_s(
        PEOPLE, ldap.SCOPE_SUBTREE, uid, ["description"], serverctrls=[wanted]
    )
    equal("values", came, {"description": [b"Goto considered"]})
    staff = "cn=staff," + GROUPS
    members = [ADA.encode(), GRACE.encode()]
    admin.add_s(staff, [("objectClass", [b"groupOfNames"]), ("cn", [b"staff"]), ("member", members)])
    follow = DereferenceControl(True, {"member": ["uid", "mail"]})
    number = admin.search_ext(staff, ldap.SCOPE_BASE, attrlist=["cn"], serverctrls=[follow])
    _, [(_, _, controls)], _, _, _, _ = admin.result4(number, add_ctrls=1)
    [came] = [control for control in controls if isinstance(control, DereferenceControl)]
    equal("members", [name for name, _ in came.derefRes["member"]], [ADA, GRACE])
    uids = [entry["uid"] for _, entry in came.derefRes["member"]]
    equal("uids", uids, [["ada"], ["grace"]])
    fresh = ValueLessRequestControl(DONT_USE_COPY, True)
    equal("ada", len(admin.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[fresh])), 1)
    subentry = [
        ("objectClass", [b"subentry", b"collectiveAttributeSubentry"]),
        ("cn", [b"phones"]),
        ("subtreeSpecification", [b"{ }"]),
    ]
    admin.modify_s(SUFFIX, [(ldap.MOD_ADD, "administrativeRole", b"collectiveAttributeSpecificArea")])
    admin.add_s("cn=phones," + SUFFIX, subentry)
    seen = admin.search_s(SUFFIX, ldap.SCOPE_SUBTREE, "(cn=phones)")
    equal("without the control", seen, [])
    only = BooleanControl(SUBENTRIES, True, True)
    seen = admin.search_ext_s(SUFFIX, ldap.SCOPE_SUBTREE, serverctrls=[only])
    equal("with the control", [dn for dn, _ in seen], ["cn=phones," + SUFFIX])


def of_everything(url, admin):
    as_ada = ProxyAuthzControl(True, ("dn:" + ADA).encode())
    # whoami_s() of python-ldap 3.4.8 cannot send controls.
    who_am_i = ExtendedRequest(WHO_AM_I, None)
    equal("who am I", admin.extop_s(who_am_i, [as_ada])[1], ("dn:" + ADA).encode())
    raises(ldap.INSUFFICIENT_ACCESS, admin.delete_ext_s, GRACE, serverctrls=[as_ada])
    connection = ldap.initialize(url)
    number = connection.simple_bind(
        GRACE, "grace", serverctrls=[AuthorizationIdentityRequestControl(True)]
    )
    _, _, _, [answer] = connection.result3(number)
    true("its class", isinstance(answer, AuthorizationIdentityResponseControl))
    equal("authorization identity", answer.authzId, ("dn:" + GRACE).encode())
    raises(ldap.PROXIED_AUTHORIZATION_DENIED, connection.extop_s, who_am_i, [as_ada])
    origin = SessionTrackingControl(
        "192.0.2.1", "app.example", SESSION_TRACKING_FORMAT_OID_USERNAME, "ada"
    )
    found = connection.search_ext_s(ADA, ldap.SCOPE_BASE, serverctrls=[origin])
    equal("ada", len(found), 1)
    unknown = LDAPControl("1.2.3.4.5", True)
    search = admin.search_ext_s
    raises(ldap.UNAVAILABLE_CRITICAL_EXTENSION, search, ADA, ldap.SCOPE_BASE, serverctrls=[unknown])
    unknown.criticality = False
    equal("ada", len(search(ADA, ldap.SCOPE_BASE, serverctrls=[unknown])), 1)


def dynamic_entries(admin):
    meeting = "cn=meeting," + SUFFIX
    classes = [b"device", b"dynamicObject"]
    admin.add_s(meeting, [("objectClass", classes), ("cn", [b"meeting"])])
    request = RefreshRequest(entryName=meeting, requestTtl=600)
    answer = admin.extop_s(request, extop_resp_class=RefreshResponse)
    equal("time to live", answer.responseTtl, 600)
    request = RefreshRequest(entryName="cn=missing," + SUFFIX, requestTtl=600)
    raises(ldap.NO_SUCH_OBJECT, admin.extop_s, request, extop_resp_class=RefreshResponse)


def main():
    [url] = arguments()
    admin = ldap.initialize(url)
    admin.simple_bind_s(ADMIN, PASSWORD)
    of_writes(admin)
    of_reads(admin)
    of_everything(url, admin)
    dynamic_entries(admin)


main()
