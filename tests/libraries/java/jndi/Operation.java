package jndi;

import javax.naming.NamingException;
import javax.naming.ldap.ExtendedRequest;
import javax.naming.ldap.ExtendedResponse;

/** An extended operation for which JNDI has no class. */
final class Operation implements ExtendedRequest {
    private static final long serialVersionUID = 1;
    static final String PASSWORD_MODIFY = "1.3.6.1.4.1.4203.1.11.1";
    static final String WHO_AM_I = "1.3.6.1.4.1.4203.1.11.3";

    private final String oid;
    private final byte[] value;

    Operation(String oid, byte[] value) {
        this.oid = oid;
        this.value = value;
    }

    @Override
    public String getID() {
        return oid;
    }

    @Override
    public byte[] getEncodedValue() {
        return value;
    }

    @Override
    public ExtendedResponse createExtendedResponse(
            String id, byte[] berValue, int offset, int length) throws NamingException {
        byte[] content = new byte[berValue == null ? 0 : length];
        if (berValue != null) {
            System.arraycopy(berValue, offset, content, 0, length);
        }
        return new Answer(id, content);
    }

    /** The response to the operation. */
    static final class Answer implements ExtendedResponse {
        private static final long serialVersionUID = 1;
        private final String id;
        private final byte[] value;

        private Answer(String id, byte[] value) {
            this.id = id;
            this.value = value;
        }

        @Override
        public String getID() {
            return id;
        }

        @Override
        public byte[] getEncodedValue() {
            return value;
        }
    }
}
