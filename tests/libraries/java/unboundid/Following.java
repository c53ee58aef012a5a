package unboundid;

import static site.Expect.ADA;
import static site.Expect.EVA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.refused;

import com.unboundid.asn1.ASN1OctetString;
import com.unboundid.ldap.sdk.AsyncRequestID;
import com.unboundid.ldap.sdk.AsyncSearchResultListener;
import com.unboundid.ldap.sdk.IntermediateResponse;
import com.unboundid.ldap.sdk.IntermediateResponseListener;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResult;
import com.unboundid.ldap.sdk.SearchResultEntry;
import com.unboundid.ldap.sdk.SearchResultReference;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.controls.ContentSyncDoneControl;
import com.unboundid.ldap.sdk.controls.ContentSyncInfoIntermediateResponse;
import com.unboundid.ldap.sdk.controls.ContentSyncInfoType;
import com.unboundid.ldap.sdk.controls.ContentSyncRequestControl;
import com.unboundid.ldap.sdk.controls.ContentSyncRequestMode;
import com.unboundid.ldap.sdk.controls.ContentSyncState;
import com.unboundid.ldap.sdk.controls.ContentSyncStateControl;
import com.unboundid.ldap.sdk.controls.EntryChangeNotificationControl;
import com.unboundid.ldap.sdk.controls.PersistentSearchChangeType;
import com.unboundid.ldap.sdk.controls.PersistentSearchRequestControl;
import com.unboundid.ldap.sdk.extensions.CancelExtendedRequest;
import java.util.EnumSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Content synchronisation and persistent search. */
public final class Following implements AsyncSearchResultListener, IntermediateResponseListener {
    private static final long serialVersionUID = 1;
    private static final String LU = "uid=lu," + PEOPLE;
    private static final String EDSGER = "uid=edsger," + PEOPLE;

    /** Entries, messages of synchronisation, and the end, in the order in which they came. */
    private final transient BlockingQueue<Object> came = new LinkedBlockingQueue<>();

    @Override
    public void searchEntryReturned(SearchResultEntry entry) {
        came.add(entry);
    }

    @Override
    public void searchReferenceReturned(SearchResultReference reference) {
        came.add(reference);
    }

    @Override
    public void searchResultReceived(AsyncRequestID id, SearchResult result) {
        came.add(result);
    }

    @Override
    public void intermediateResponseReturned(IntermediateResponse response) {
        try {
            came.add(ContentSyncInfoIntermediateResponse.decode(response));
        } catch (LDAPException problem) {
            came.add(problem);
        }
    }

    private <T> T next(Class<T> expected) throws InterruptedException {
        Object one = came.poll(60, TimeUnit.SECONDS);
        holds("expected " + expected.getSimpleName() + ", came " + one, expected.isInstance(one));
        return expected.cast(one);
    }

    private void change(ContentSyncState state, String name) throws Exception {
        SearchResultEntry entry = next(SearchResultEntry.class);
        equal("name", entry.getDN(), name);
        equal("state", ContentSyncStateControl.get(entry).getState(), state);
    }

    private static SearchRequest everybody() throws LDAPException {
        return new SearchRequest(PEOPLE, SearchScope.SUB, "(uid=*)");
    }

    private static SearchResult refresh(LDAPConnection connection, ASN1OctetString cookie)
            throws LDAPException {
        SearchRequest request = everybody();
        request.addControl(
                new ContentSyncRequestControl(ContentSyncRequestMode.REFRESH_ONLY, cookie, false));
        return connection.search(request);
    }

    /** The states that a refresh reports, in the order of names. */
    private static String said(SearchResult result) {
        return result.getSearchEntries().stream()
                .map(entry -> {
                    try {
                        String uid = entry.getParsedDN().getRDN().getAttributeValues()[0];
                        return uid + " " + ContentSyncStateControl.get(entry).getState();
                    } catch (LDAPException problem) {
                        throw new AssertionError(problem);
                    }
                })
                .sorted()
                .collect(Collectors.joining(", "));
    }

    private static void make(LDAPConnection admin) throws Exception {
        admin.add("dn: " + EVA, "objectClass: inetOrgPerson", "cn: Eva", "sn: Eva");
    }

    private static void nowAndThen(LDAPConnection admin) throws Exception {
        SearchResult first = refresh(admin, null);
        equal("said", said(first), "ada ADD, edsger ADD, grace ADD");
        ASN1OctetString cookie = ContentSyncDoneControl.get(first).getCookie();
        make(admin);
        admin.modify(ADA, new Modification(ModificationType.REPLACE, "sn", "Byron"));
        admin.delete(GRACE);
        SearchResult second = refresh(admin, cookie);
        // RFC 4533 §3.3.2 lets the server report changed entries as "add".
        equal("said", said(second), "ada ADD, eva ADD, grace DELETE");
        holds("the rest is as it was", ContentSyncDoneControl.get(second).refreshDeletes());
        ASN1OctetString nonsense = new ASN1OctetString("nonsense");
        refused(ResultCode.E_SYNC_REFRESH_REQUIRED, () -> refresh(admin, nonsense));
        admin.delete(EVA);
    }

    private void allTheTime(LDAPConnection watch, LDAPConnection admin) throws Exception {
        SearchRequest request = new SearchRequest(this, PEOPLE, SearchScope.SUB, "(uid=*)");
        request.setIntermediateResponseListener(this);
        request.addControl(new ContentSyncRequestControl(
                ContentSyncRequestMode.REFRESH_AND_PERSIST, null, false));
        AsyncRequestID id = watch.asyncSearch(request);
        change(ContentSyncState.ADD, ADA);
        change(ContentSyncState.ADD, EDSGER);
        ContentSyncInfoIntermediateResponse info = next(ContentSyncInfoIntermediateResponse.class);
        holds("the refresh is over", info.refreshDone());
        holds("one of two kinds: " + info.getType(),
                info.getType() == ContentSyncInfoType.REFRESH_DELETE
                        || info.getType() == ContentSyncInfoType.REFRESH_PRESENT);
        holds("there is a cookie", info.getCookie() != null);
        make(admin);
        change(ContentSyncState.ADD, EVA);
        admin.modifyDN(EVA, "uid=lu", true);
        change(ContentSyncState.MODIFY, LU);
        admin.delete(LU);
        change(ContentSyncState.DELETE, LU);
        watch.processExtendedOperation(new CancelExtendedRequest(id));
        equal("the end", next(SearchResult.class).getResultCode(), ResultCode.CANCELED);
    }

    private void notice(PersistentSearchChangeType type, String name, String before)
            throws Exception {
        SearchResultEntry entry = next(SearchResultEntry.class);
        EntryChangeNotificationControl note = EntryChangeNotificationControl.get(entry);
        equal("type", note.getChangeType(), type);
        equal("name", entry.getDN(), name);
        equal("name before", note.getPreviousDN(), before);
        holds("a number", note.getChangeNumber() > 0);
    }

    private void persistentSearch(LDAPConnection watch, LDAPConnection admin) throws Exception {
        SearchRequest request = new SearchRequest(this, PEOPLE, SearchScope.SUB, "(uid=*)");
        request.addControl(new PersistentSearchRequestControl(
                EnumSet.allOf(PersistentSearchChangeType.class), true, true));
        AsyncRequestID id = watch.asyncSearch(request);
        // A later request of the connection is answered: the search has begun.
        watch.getRootDSE();
        make(admin);
        notice(PersistentSearchChangeType.ADD, EVA, null);
        admin.modify(EVA, new Modification(ModificationType.REPLACE, "sn", "Ator"));
        notice(PersistentSearchChangeType.MODIFY, EVA, null);
        admin.modifyDN(EVA, "uid=lu", true);
        notice(PersistentSearchChangeType.MODIFY_DN, LU, EVA);
        admin.delete(LU);
        notice(PersistentSearchChangeType.DELETE, LU, null);
        watch.abandon(id);
        holds("the connection goes on", watch.getEntry(ADA) != null);
    }

    public static void main(String[] arguments) throws Exception {
        LDAPConnection admin = Site.admin(arguments[0]);
        nowAndThen(admin);
        new Following().allTheTime(Site.admin(arguments[0]), admin);
        new Following().persistentSearch(Site.admin(arguments[0]), admin);
        System.exit(0);
    }
}
