package jndi;

import static javax.naming.directory.DirContext.REPLACE_ATTRIBUTE;
import static jndi.Site.name;
import static site.Expect.ADA;
import static site.Expect.EVA;
import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.holds;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.naming.directory.SearchControls;
import javax.naming.event.EventDirContext;
import javax.naming.event.NamespaceChangeListener;
import javax.naming.event.NamingEvent;
import javax.naming.event.NamingExceptionEvent;
import javax.naming.event.ObjectChangeListener;
import javax.naming.ldap.LdapContext;

/** Listeners, for which the JDK's provider sends persistent searches. */
public final class Following implements NamespaceChangeListener, ObjectChangeListener {
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();

    private void tell(String what, NamingEvent event) {
        String before = event.getOldBinding() == null ? "" : event.getOldBinding().getName();
        String after = event.getNewBinding() == null ? "" : event.getNewBinding().getName();
        told.add(what + " " + before + " " + after);
    }

    @Override
    public void objectAdded(NamingEvent event) {
        tell("added", event);
    }

    @Override
    public void objectRemoved(NamingEvent event) {
        tell("removed", event);
    }

    @Override
    public void objectRenamed(NamingEvent event) {
        tell("renamed", event);
    }

    @Override
    public void objectChanged(NamingEvent event) {
        tell("changed", event);
    }

    @Override
    public void namingExceptionThrown(NamingExceptionEvent event) {
        told.add(event.getException().toString());
    }

    private void expect(String line) throws InterruptedException {
        equal("told", told.poll(60, TimeUnit.SECONDS), line);
    }

    public static void main(String[] arguments) throws Exception {
        LdapContext admin = Site.admin(arguments[0]);
        LdapContext watch = Site.admin(arguments[0]);
        EventDirContext people = (EventDirContext) watch.lookup(name(PEOPLE));
        holds("any name will do", people.targetMustExist());
        Following listener = new Following();
        SearchControls how = new SearchControls();
        how.setSearchScope(SearchControls.SUBTREE_SCOPE);
        people.addNamingListener("", "(uid=*)", how, listener);
        // The listener starts in a thread of its own: change an entry until it is notified.
        String began = null;
        for (int round = 0; began == null; round++) {
            holds("the listener has begun", round < 600);
            Site.modify(admin, ADA, Site.change(REPLACE_ATTRIBUTE, "description", "round " + round));
            began = listener.told.poll(100, TimeUnit.MILLISECONDS);
        }
        equal("told", began, "changed uid=ada uid=ada");
        admin.createSubcontext(
                name(EVA), Site.entry("objectClass: inetOrgPerson", "cn: Eva", "sn: Eva"));
        String next = listener.told.poll(60, TimeUnit.SECONDS);
        while (next != null && next.startsWith("changed uid=ada")) {
            next = listener.told.poll(60, TimeUnit.SECONDS);
        }
        equal("told", next, "added  uid=eva");
        admin.rename(name(EVA), name("uid=lu," + PEOPLE));
        listener.expect("renamed uid=eva uid=lu");
        admin.destroySubcontext(name("uid=lu," + PEOPLE));
        listener.expect("removed uid=lu ");
        people.removeNamingListener(listener);
        System.exit(0);
    }
}
