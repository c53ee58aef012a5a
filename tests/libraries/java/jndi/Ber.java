package jndi;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** BER for the values of controls and operations for which JNDI has no classes. */
final class Ber {
    static final int BOOLEAN = 0x01;
    static final int INTEGER = 0x02;
    static final int OCTET_STRING = 0x04;
    static final int SEQUENCE = 0x30;

    private Ber() {}

    /** An element of parts that are elements themselves or plain content, shorter than 128 bytes. */
    static byte[] element(int tag, byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        byte[] content = out.toByteArray();
        if (content.length > 127) {
            throw new IllegalArgumentException("too long for this encoder: " + content.length);
        }
        out.reset();
        out.write(tag);
        out.write(content.length);
        out.writeBytes(content);
        return out.toByteArray();
    }

    static byte[] text(int tag, String text) {
        return element(tag, text.getBytes(StandardCharsets.UTF_8));
    }

    /** A number below 32768. */
    static byte[] number(int number) {
        return element(INTEGER, new byte[] {(byte) (number >> 8), (byte) number});
    }
}
