package interop.v0_3;

import io.quarkus.runtime.annotations.QuarkusMain;
import java.util.Arrays;

/** The programs of the jar: {@code client ...} or {@code server}. */
@QuarkusMain
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        String program = arguments.length > 0 ? arguments[0] : "";
        switch (program) {
            case "client" -> Client.main(Arrays.copyOfRange(arguments, 1, arguments.length));
            case "server" -> Server.main();
            default -> throw new IllegalArgumentException("expected client or server");
        }
    }
}
