package unboundid;

import static site.Expect.ADA;
import static site.Expect.GRACE;
import static site.Expect.PEOPLE;
import static site.Expect.equal;
import static site.Expect.holds;
import static unboundid.Site.refused;

import com.unboundid.asn1.ASN1OctetString;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.ExtendedResult;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPConnectionOptions;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPResult;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.controls.PostReadRequestControl;
import com.unboundid.ldap.sdk.controls.PostReadResponseControl;
import com.unboundid.ldap.sdk.controls.TransactionSpecificationRequestControl;
import com.unboundid.ldap.sdk.extensions.AbortedTransactionExtendedResult;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.EndTransactionExtendedResult;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedRequest;
import com.unboundid.ldap.sdk.extensions.StartTransactionExtendedResult;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Transactions (RFC 5805). */
public final class Transactions {
    private static ASN1OctetString start(LDAPConnection connection) throws LDAPException {
        StartTransactionExtendedRequest request = new StartTransactionExtendedRequest();
        ExtendedResult result = connection.processExtendedOperation(request);
        equal("start", result.getResultCode(), ResultCode.SUCCESS);
        return ((StartTransactionExtendedResult) result).getTransactionID();
    }

    private static LDAPResult surname(
            LDAPConnection connection, ASN1OctetString id, String name, String value)
            throws LDAPException {
        ModifyRequest request =
                new ModifyRequest(name, new Modification(ModificationType.REPLACE, "sn", value));
        request.addControl(new TransactionSpecificationRequestControl(id));
        request.addControl(new PostReadRequestControl("sn"));
        return connection.modify(request);
    }

    private static EndTransactionExtendedResult end(
            LDAPConnection connection, ASN1OctetString id, boolean commit) throws LDAPException {
        return (EndTransactionExtendedResult)
                connection.processExtendedOperation(new EndTransactionExtendedRequest(id, commit));
    }

    private static String surnames(LDAPConnection connection) throws LDAPException {
        String ada = connection.getEntry(ADA).getAttributeValue("sn");
        return ada + " " + connection.getEntry(GRACE).getAttributeValue("sn");
    }

    private static void committed(LDAPConnection admin, LDAPConnection other)
            throws LDAPException {
        ASN1OctetString id = start(admin);
        ASN1OctetString second = start(admin);
        int first = surname(admin, id, ADA, "Byron").getMessageID();
        surname(admin, id, GRACE, "Hopper");
        surname(admin, second, ADA, "King");
        equal("before the end", surnames(other), "ada grace");
        EndTransactionExtendedResult ended = end(admin, id, true);
        equal("end", ended.getResultCode(), ResultCode.SUCCESS);
        equal("committed", surnames(other), "Byron Hopper");
        // The response to the end has the entries read, under the updates' message ids.
        equal("updates with controls", ended.getOperationResponseControls().size(), 2);
        Control[] controls = ended.getOperationResponseControls(first);
        PostReadResponseControl read = (PostReadResponseControl) controls[0];
        equal("post-read", read.getEntry().getAttributeValue("sn"), "Byron");
        equal("abort", end(admin, second, false).getResultCode(), ResultCode.SUCCESS);
        equal("aborted", surnames(other), "Byron Hopper");
        equal("again", end(admin, second, true).getResultCode(), ResultCode.UNWILLING_TO_PERFORM);
    }

    private static void takenBack(LDAPConnection admin, LDAPConnection other)
            throws LDAPException {
        ASN1OctetString id = start(admin);
        surname(admin, id, ADA, "King");
        int failing = surname(admin, id, "uid=missing," + PEOPLE, "Nobody").getMessageID();
        EndTransactionExtendedResult ended = end(admin, id, true);
        equal("end", ended.getResultCode(), ResultCode.NO_SUCH_OBJECT);
        equal("the update that failed", ended.getFailedOpMessageID(), failing);
        equal("taken back", surnames(other), "Byron Hopper");
    }

    /** An update that is refused at once aborts the transaction, with a notice of the server. */
    private static void aborted(String url) throws Exception {
        BlockingQueue<ExtendedResult> notices = new LinkedBlockingQueue<>();
        LDAPConnectionOptions options = new LDAPConnectionOptions();
        options.setUnsolicitedNotificationHandler((connection, notice) -> notices.add(notice));
        LDAPConnection admin = Site.admin(url);
        admin.setConnectionOptions(options);
        ASN1OctetString id = start(admin);
        surname(admin, id, ADA, "King");
        ModifyRequest wrong = new ModifyRequest(
                ADA, new Modification(ModificationType.REPLACE, "noSuchType", "x"));
        wrong.addControl(new TransactionSpecificationRequestControl(id));
        refused(ResultCode.UNDEFINED_ATTRIBUTE_TYPE, () -> admin.modify(wrong));
        ExtendedResult notice = notices.poll(60, TimeUnit.SECONDS);
        holds("a notice came", notice != null);
        equal("its name", notice.getOID(),
                AbortedTransactionExtendedResult.ABORTED_TRANSACTION_RESULT_OID);
        equal("whose", new AbortedTransactionExtendedResult(notice).getTransactionID().stringValue(),
                id.stringValue());
        equal("end", end(admin, id, true).getResultCode(), ResultCode.UNWILLING_TO_PERFORM);
        admin.close();
    }

    public static void main(String[] arguments) throws Exception {
        LDAPConnection admin = Site.admin(arguments[0]);
        LDAPConnection other = Site.admin(arguments[0]);
        committed(admin, other);
        takenBack(admin, other);
        aborted(arguments[0]);
        equal("in the end", surnames(other), "Byron Hopper");
    }
}
