"""Content synchronisation and persistent search with python-ldap."""

import ldap
from expect import ADA, ADMIN, GRACE, PASSWORD, PEOPLE, arguments, equal, raises, true
from ldap.controls.psearch import EntryChangeNotificationControl, PersistentSearchControl
from ldap.ldapobject import SimpleLDAPObject
from ldap.syncrepl import SyncreplConsumer

EVA = "uid=eva," + PEOPLE
ENTRY = [("objectClass", [b"inetOrgPerson"]), ("cn", [b"Eva"]), ("sn", [b"Eva"])]


class Copy(SimpleLDAPObject, SyncreplConsumer):
    """Stores the entries that the server reports, by entryUUID."""

    def begin(self):
        self.entries, self.present, self.cookie, self.refreshed = {}, set(), None, False
        return self

    def syncrepl_get_cookie(self):
        return self.cookie

    def syncrepl_set_cookie(self, cookie):
        self.cookie = cookie

    def syncrepl_entry(self, dn, attributes, uuid):
        self.entries[uuid] = (dn, attributes)

    def syncrepl_delete(self, uuids):
        for uuid in uuids:
            del self.entries[uuid]

    def syncrepl_present(self, uuids, refreshDeletes=False):
        if uuids is not None:
            self.present.update(uuids)
            return
        if not refreshDeletes:
            self.entries = {key: self.entries[key] for key in self.entries if key in self.present}
        self.present = set()

    def syncrepl_refreshdone(self):
        self.refreshed = True

    def names(self):
        return sorted(dn for dn, _ in self.entries.values())

    def refresh(self):
        number = self.syncrepl_search(PEOPLE, ldap.SCOPE_SUBTREE, filterstr="(uid=*)")
        while self.syncrepl_poll(number, timeout=60):
            pass

    def until(self, number, condition):
        while not condition():
            true("the search stays", self.syncrepl_poll(number, timeout=60))


def bound(kind, url):
    connection = kind(url)
    connection.simple_bind_s(ADMIN, PASSWORD)
    return connection


def change(admin):
    admin.add_s(EVA, ENTRY)
    admin.modify_s(ADA, [(ldap.MOD_REPLACE, "sn", b"Byron")])
    admin.delete_s(GRACE)


def now_and_then(url, admin):
    copy = bound(Copy, url).begin()
    copy.refresh()
    equal("names", copy.names(), sorted([ADA, GRACE, "uid=edsger," + PEOPLE]))
    first = copy.cookie
    true("there is a cookie", first)
    change(admin)
    copy.refresh()
    equal("names", copy.names(), sorted([ADA, EVA, "uid=edsger," + PEOPLE]))
    true("ada is changed", (b"Byron" in dict(copy.entries.values())[ADA]["sn"]))
    true("the cookie is new", copy.cookie != first)
    copy.cookie = "rid=000,csn=nonsense"
    # libldap has no name for e-syncRefreshRequired.
    equal("result code", raises(ldap.LDAPError, copy.refresh).args[0]["result"], 4096)
    admin.delete_s(EVA)


def all_the_time(url, admin):
    copy = bound(Copy, url).begin()
    number = copy.syncrepl_search(PEOPLE, ldap.SCOPE_SUBTREE, "refreshAndPersist", filterstr="(uid=*)")
    copy.until(number, lambda: copy.refreshed)
    equal("names", copy.names(), sorted([ADA, "uid=edsger," + PEOPLE]))
    admin.add_s(EVA, ENTRY)
    copy.until(number, lambda: EVA in copy.names())
    admin.rename_s(EVA, "uid=lu")
    copy.until(number, lambda: "uid=lu," + PEOPLE in copy.names())
    true("the old name is gone", EVA not in copy.names())
    admin.delete_s("uid=lu," + PEOPLE)
    copy.until(number, lambda: len(copy.names()) == 2)
    copy.cancel_s(number)


def persistent_search(url, admin):
    watch = bound(ldap.initialize, url)
    control = PersistentSearchControl(True, ["add", "delete", "modDN"], True, True)
    number = watch.search_ext(PEOPLE, ldap.SCOPE_SUBTREE, serverctrls=[control])
    # A persistent search has no response at its start; the answer to a later request proves it.
    watch.whoami_s()

    def told():
        _, [(dn, _, controls)], _, _, _, _ = watch.result4(number, all=0, timeout=60, add_ctrls=1)
        [note] = [it for it in controls if isinstance(it, EntryChangeNotificationControl)]
        return note.changeType, dn, note.previousDN

    lu = "uid=lu," + PEOPLE
    admin.add_s(EVA, ENTRY)
    equal("added", told(), (1, EVA, None))
    admin.modify_s(EVA, [(ldap.MOD_REPLACE, "sn", b"Ator")])
    admin.rename_s(EVA, "uid=lu")
    equal("renamed; the modification was not asked for", told(), (8, lu, EVA))
    admin.delete_s(lu)
    equal("deleted", told(), (2, lu, None))
    watch.abandon(number)


def main():
    [url] = arguments()
    admin = bound(ldap.initialize, url)
    now_and_then(url, admin)
    all_the_time(url, admin)
    persistent_search(url, admin)


main()
