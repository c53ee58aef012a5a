package unboundid;

import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.refused;
import static unboundid.Site.uids;

import com.unboundid.asn1.ASN1OctetString;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPSearchException;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResult;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.controls.ServerSideSortRequestControl;
import com.unboundid.ldap.sdk.controls.ServerSideSortResponseControl;
import com.unboundid.ldap.sdk.controls.SimplePagedResultsControl;
import com.unboundid.ldap.sdk.controls.SortKey;
import com.unboundid.ldap.sdk.controls.VirtualListViewRequestControl;
import com.unboundid.ldap.sdk.controls.VirtualListViewResponseControl;
import com.unboundid.ldap.sdk.unboundidds.controls.MatchingEntryCountRequestControl;
import com.unboundid.ldap.sdk.unboundidds.controls.MatchingEntryCountResponseControl;
import com.unboundid.ldap.sdk.unboundidds.controls.MatchingEntryCountType;
import com.unboundid.ldap.sdk.unboundidds.controls.PermitUnindexedSearchRequestControl;
import com.unboundid.ldap.sdk.unboundidds.controls.RejectUnindexedSearchRequestControl;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Pages, sorting, list views and counts of three thousand people. */
public final class Lists {
    private static final List<String> ALL =
            IntStream.range(0, 3000).mapToObj(it -> "p" + it).sorted().collect(Collectors.toList());

    private static SearchResult search(LDAPConnection connection, String filter, Control... controls)
            throws LDAPException {
        SearchRequest request = new SearchRequest(PEOPLE, SearchScope.ONE, filter, "uid");
        request.setControls(controls);
        return connection.search(request);
    }

    private static List<String> pages(LDAPConnection connection, Control... more)
            throws LDAPException {
        List<String> came = new ArrayList<>();
        ASN1OctetString cookie = null;
        do {
            Control[] controls = new Control[more.length + 1];
            controls[0] = new SimplePagedResultsControl(500, cookie, true);
            System.arraycopy(more, 0, controls, 1, more.length);
            SearchResult page = search(connection, "(objectClass=person)", controls);
            equal("entries of a page", page.getEntryCount(), 500);
            came.addAll(uids(page));
            cookie = SimplePagedResultsControl.get(page).getCookie();
        } while (cookie != null && cookie.getValueLength() > 0);
        return came;
    }

    private static void sorting(LDAPConnection connection) throws LDAPException {
        Control reverse = new ServerSideSortRequestControl(true, new SortKey("uid", true));
        SearchResult found = search(connection, "(uid=*)", reverse);
        List<String> backwards = new ArrayList<>(ALL);
        Collections.reverse(backwards);
        equal("uids", uids(found), backwards);
        equal("sort result", ServerSideSortResponseControl.get(found).getResultCode(),
                ResultCode.SUCCESS);
        Control byRule = new ServerSideSortRequestControl(true,
                new SortKey("sn"), new SortKey("uid", "caseIgnoreOrderingMatch", false));
        equal("uids", uids(search(connection, "(uid=*)", byRule)), ALL);
        equal("sorted pages", pages(connection, byRule), ALL);
        Control unknown = new ServerSideSortRequestControl(true, new SortKey("noSuchType"));
        refused(ResultCode.UNAVAILABLE_CRITICAL_EXTENSION, () -> search(connection, "(uid=*)", unknown));
        Control wish = new ServerSideSortRequestControl(false, new SortKey("noSuchType"));
        ServerSideSortResponseControl answer =
                ServerSideSortResponseControl.get(search(connection, "(uid=p1)", wish));
        equal("sort result", answer.getResultCode(), ResultCode.NO_SUCH_ATTRIBUTE);
        equal("attribute", answer.getAttributeName(), "noSuchType");
    }

    private static void views(LDAPConnection connection) throws LDAPException {
        Control order = new ServerSideSortRequestControl(true, new SortKey("uid"));
        Control byOffset = new VirtualListViewRequestControl(1000, 2, 3, 0, null, true);
        SearchResult found = search(connection, "(uid=*)", order, byOffset);
        equal("the window", uids(found), ALL.subList(997, 1003));
        VirtualListViewResponseControl place = VirtualListViewResponseControl.get(found);
        equal("position", place.getTargetPosition(), 1000);
        equal("count", place.getContentCount(), 3000);
        Control byValue =
                new VirtualListViewRequestControl("p2500", 0, 4, place.getContextID(), true);
        found = search(connection, "(uid=*)", order, byValue);
        int at = ALL.indexOf("p2500");
        equal("the window", uids(found), ALL.subList(at, at + 5));
        equal("position", VirtualListViewResponseControl.get(found).getTargetPosition(), at + 1);
        Control beyond = new VirtualListViewRequestControl(3005, 0, 0, 0, null, true);
        LDAPException refusal = refused(ResultCode.VIRTUAL_LIST_VIEW_ERROR,
                () -> search(connection, "(uid=*)", order, beyond));
        place = VirtualListViewResponseControl.get(((LDAPSearchException) refusal).getSearchResult());
        equal("why", place.getResultCode(), ResultCode.OFFSET_RANGE_ERROR);
    }

    private static void counts(LDAPConnection connection) throws LDAPException {
        Control count = new MatchingEntryCountRequestControl(true, 10_000, true, true, true);
        SearchResult found = search(connection, "(uid=p1*)", count);
        equal("entries", found.getEntryCount(), 0);
        MatchingEntryCountResponseControl answer = MatchingEntryCountResponseControl.get(found);
        equal("kind of count", answer.getCountType(), MatchingEntryCountType.EXAMINED_COUNT);
        equal("count", answer.getCountValue(), 1111);
        holds("it says how", !answer.getDebugInfo().isEmpty());
        Control reject = new RejectUnindexedSearchRequestControl(true);
        equal("found", search(connection, "(uid=p17)", reject).getEntryCount(), 1);
        // A few thousand entries below a name are within the limits.
        SearchRequest everywhere =
                new SearchRequest("", SearchScope.SUB, "(telephoneNumber=1)");
        everywhere.addControl(reject);
        refused(ResultCode.UNWILLING_TO_PERFORM, () -> connection.search(everywhere));
        everywhere.setControls(new PermitUnindexedSearchRequestControl(true));
        equal("found", connection.search(everywhere).getEntryCount(), 0);
    }

    public static void main(String[] arguments) throws Exception {
        LDAPConnection connection = Site.admin(arguments[0]);
        List<String> came = pages(connection);
        Collections.sort(came);
        equal("pages", came, ALL);
        sorting(connection);
        views(connection);
        counts(connection);
    }
}
