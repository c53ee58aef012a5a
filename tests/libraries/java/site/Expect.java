package site;

import java.util.Objects;

/** Data about the test site, and checks that print the expected and the actual value. */
public final class Expect {
    public static final String SUFFIX = System.getenv("SUFFIX");
    public static final String ADMIN = System.getenv("ADMIN");
    public static final String PASSWORD = System.getenv("PASSWORD");
    public static final String PEOPLE = "ou=People," + SUFFIX;
    public static final String GROUPS = "ou=Groups," + SUFFIX;
    public static final String ADA = "uid=ada," + PEOPLE;
    public static final String GRACE = "uid=grace," + PEOPLE;
    public static final String EVA = "uid=eva," + PEOPLE;

    /** A call that may throw. */
    public interface Call {
        Object run() throws Exception;
    }

    private Expect() {}

    /** Ends the program unless both values are equal. */
    public static void equal(String what, Object came, Object expected) {
        if (!Objects.equals(came, expected)) {
            throw new AssertionError(what + ": expected " + expected + ", came " + came);
        }
    }

    /** Ends the program unless the condition holds. */
    public static void holds(String what, boolean condition) {
        if (!condition) {
            throw new AssertionError("not true: " + what);
        }
    }

    /** Calls and returns the exception of this very class; ends the program on anything else. */
    public static <E extends Exception> E raises(Class<E> expected, Call call) {
        try {
            Object came = call.run();
            throw new AssertionError("expected " + expected.getName() + ", came " + came);
        } catch (Exception raised) {
            if (raised.getClass() == expected) {
                return expected.cast(raised);
            }
            throw new AssertionError("expected " + expected.getName() + ", came " + raised, raised);
        }
    }
}
