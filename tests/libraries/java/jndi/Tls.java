package jndi;

import static site.Expect.ADA;
import static site.Expect.equal;
import static site.Expect.holds;
import static site.Expect.raises;

import java.io.FileInputStream;
import java.io.InputStream;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.naming.CommunicationException;
import javax.naming.Context;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.StartTlsRequest;
import javax.naming.ldap.StartTlsResponse;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/** TLS from the first byte and on request, and an untrusted certificate. */
public final class Tls {
    /** Makes sockets that trust one certificate. */
    private static SSLSocketFactory trusting(String certificate) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (InputStream file = new FileInputStream(certificate)) {
            store.setCertificateEntry(
                    "server", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        // `ldaps://` takes the default of the whole program.
        SSLContext.setDefault(context);
        return context.getSocketFactory();
    }

    private static StartTlsResponse start(LdapContext context) throws Exception {
        return (StartTlsResponse) context.extendedOperation(new StartTlsRequest());
    }

    public static void main(String[] arguments) throws Exception {
        String plain = arguments[0];
        String secure = arguments[1];
        raises(CommunicationException.class, () -> Site.connect(secure, ADA, "ada"));
        LdapContext stranger = Site.connect(plain, null, null);
        raises(SSLHandshakeException.class, () -> start(stranger).negotiate());

        SSLSocketFactory factory = trusting(arguments[2]);
        LdapContext context = Site.connect(secure, ADA, "ada");
        equal("ada", Site.value(context, ADA, "uid"), "ada");
        LdapContext later = Site.connect(plain, null, null);
        holds("a session", start(later).negotiate(factory).isValid());
        later.addToEnvironment(Context.SECURITY_AUTHENTICATION, "simple");
        later.addToEnvironment(Context.SECURITY_PRINCIPAL, ADA);
        later.addToEnvironment(Context.SECURITY_CREDENTIALS, "ada");
        later.reconnect(null);
        equal("ada", Site.value(later, ADA, "uid"), "ada");
    }
}
