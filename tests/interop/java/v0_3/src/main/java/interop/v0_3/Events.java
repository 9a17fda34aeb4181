package interop.v0_3;

import interop.Expect;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.spec.Message;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.TaskStatusUpdateEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The events of a stream, which the SDK hands to callbacks.
 *
 * <p>Only over JSON-RPC does the SDK report the end of a stream, so that a stream ends here with a
 * final status, a message or an error, and a short wait in which nothing else may arrive.
 */
final class Events {
    /** Timeout between events, in seconds. */
    private static final int SECONDS = 20;

    /** Wait for events after the last, in milliseconds. */
    private static final int QUIET = 200;

    private final BlockingQueue<Runnable> arrived = new LinkedBlockingQueue<>();
    private final List<StreamingEventKind> seen = new ArrayList<>();
    private Throwable error;
    private boolean ended;

    /** Receives an event. */
    void accept(ClientEvent event) {
        arrived.add(() -> seen.add(payload(event)));
    }

    /** Receives an error; the SDK reports the end of a stream as none. */
    void fail(Throwable failure) {
        arrived.add(() -> {
            ended = true;
            if (failure != null) {
                error = failure;
            }
        });
    }

    /** Returns all events of the stream. */
    List<StreamingEventKind> all() throws Exception {
        while (!ended && !isLast()) {
            Runnable next = arrived.poll(SECONDS, TimeUnit.SECONDS);
            Expect.expect(next != null, "no event for " + SECONDS + " s after " + seen);
            next.run();
        }
        Runnable late;
        while ((late = arrived.poll(QUIET, TimeUnit.MILLISECONDS)) != null) {
            late.run();
        }
        // The SDK cancels a stream after its final status, and may report that.
        if (error != null && !isLast()) {
            throw new StreamError(error, seen);
        }
        return seen;
    }

    /** An error in a stream, and the events before it. */
    static final class StreamError extends Exception {
        StreamError(Throwable cause, List<StreamingEventKind> seen) {
            super(cause + " after " + seen.size() + " events", cause);
        }
    }

    private boolean isLast() {
        if (seen.isEmpty()) {
            return false;
        }
        StreamingEventKind last = seen.get(seen.size() - 1);
        return last instanceof Message
                || last instanceof TaskStatusUpdateEvent update && update.isFinal();
    }

    /** What the server sent: the SDK adds the task that it has assembled from updates. */
    static StreamingEventKind payload(ClientEvent event) {
        if (event instanceof TaskUpdateEvent update) {
            return (StreamingEventKind) update.getUpdateEvent();
        }
        if (event instanceof TaskEvent task) {
            return task.getTask();
        }
        return ((MessageEvent) event).getMessage();
    }
}
