package interop;

import com.google.gson.JsonObject;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The command line of a client, and one line of JSON per check. */
public final class Driver {
    /** Timeout of a check, in seconds. */
    private static final int SECONDS = 30;

    private Driver() {}

    /** A check, which fails by throwing. */
    @FunctionalInterface
    public interface Check {
        void run() throws Exception;
    }

    /** {@code --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]...} */
    public record CommandLine(String card, String binding, List<String> only) {
        public static CommandLine parse(String[] arguments) {
            String card = null;
            String binding = null;
            List<String> only = new ArrayList<>();
            for (int index = 0; index + 1 < arguments.length; index += 2) {
                String value = arguments[index + 1];
                switch (arguments[index]) {
                    case "--card" -> card = value;
                    case "--binding" -> binding = value;
                    case "--only" -> only.add(value);
                    default -> throw new IllegalArgumentException(arguments[index]);
                }
            }
            if (card == null || binding == null) {
                throw new IllegalArgumentException("--card and --binding are required");
            }
            return new CommandLine(card, binding, only);
        }
    }

    /** Runs the checks, or those that {@code only} names, and exits. */
    public static void run(Map<String, Check> checks, List<String> only) {
        // Whatever the locale.
        FileOutputStream stdout = new FileOutputStream(FileDescriptor.out);
        PrintStream output = new PrintStream(stdout, true, StandardCharsets.UTF_8);
        checks.forEach((operation, check) -> {
            if (only.isEmpty() || only.contains(operation)) {
                Optional<String> failure = run(operation, check);
                JsonObject line = new JsonObject();
                line.addProperty("operation", operation);
                line.addProperty("ok", failure.isEmpty());
                line.addProperty("detail", failure.orElse(""));
                output.println(line);
            }
        });
        // Threads of the SDK may still run.
        System.exit(0);
    }

    /** Runs a check, and returns why it failed. */
    private static Optional<String> run(String operation, Check check) {
        FutureTask<Void> running = new FutureTask<>(() -> {
            check.run();
            return null;
        });
        Thread thread = new Thread(running, operation);
        thread.setDaemon(true);
        thread.start();
        try {
            running.get(SECONDS, TimeUnit.SECONDS);
            return Optional.empty();
        } catch (ExecutionException failed) {
            Throwable cause = failed.getCause();
            if (cause.getClass() == AssertionError.class) {
                return Optional.of(cause.getMessage());
            }
            cause.printStackTrace();
            return Optional.of(cause.toString());
        } catch (TimeoutException late) {
            running.cancel(true);
            return Optional.of("timed out after " + SECONDS + " s");
        } catch (InterruptedException interrupted) {
            return Optional.of(interrupted.toString());
        }
    }
}
