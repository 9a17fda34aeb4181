package interop;

import java.util.Objects;

/** Assertions of checks. */
public final class Expect {
    private Expect() {}

    /** Fails with {@code text} unless {@code condition} holds. */
    public static void expect(boolean condition, String text) {
        if (!condition) {
            throw new AssertionError(text);
        }
    }

    /** Fails unless {@code actual} equals {@code expected}. */
    public static void same(Object actual, Object expected, String what) {
        expect(
                Objects.equals(actual, expected),
                "%s: expected %s, got %s".formatted(what, expected, actual));
    }
}
