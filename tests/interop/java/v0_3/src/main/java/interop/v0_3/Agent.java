package interop.v0_3;

import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.spec.InternalError;
import io.a2a.spec.Message;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import jakarta.enterprise.context.ApplicationScoped;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** The words, as an executor of the SDK. */
@ApplicationScoped
public final class Agent implements AgentExecutor {
    /** Time between chunks, in milliseconds. */
    private static final int TICK = 50;

    /** Time for the SDK to send the events before a panic, in milliseconds. */
    private static final int BEFORE_PANIC = 300;

    /** Canceled tasks whose executions have not ended: the SDK does not interrupt those. */
    private final Set<String> canceled = ConcurrentHashMap.newKeySet();

    @Override
    public void execute(RequestContext context, EventQueue events) {
        try {
            answer(context, events);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new InternalError("interrupted");
        }
    }

    private void answer(RequestContext context, EventQueue events) throws InterruptedException {
        Message message = context.getMessage();
        String input = context.getUserInput("");
        String[] words = input.split(" ", 2);
        String rest = words.length > 1 ? words[1] : "";
        if (words[0].equals("message")) {
            events.enqueueEvent(new Message.Builder()
                    .role(Message.Role.AGENT)
                    .messageId(UUID.randomUUID().toString())
                    .contextId(context.getContextId())
                    .parts(new TextPart("message: " + rest))
                    .build());
            return;
        }

        boolean isFollowUp = context.getTask() != null;
        if (!isFollowUp) {
            events.enqueueEvent(new Task.Builder()
                    .id(context.getTaskId())
                    .contextId(context.getContextId())
                    .status(new TaskStatus(TaskState.SUBMITTED))
                    .history(message)
                    .build());
        }
        TaskUpdater updater = new TaskUpdater(context, events);
        updater.startWork();
        if (message.getMessageId().startsWith("acc-echo")) {
            updater.addArtifact(message.getParts(), null, "echo", null);
            updater.complete(said(updater, "echoed"));
            return;
        }
        if (isFollowUp) {
            updater.addArtifact(List.of(new TextPart(input)), null, "answer", null);
            updater.complete(said(updater, "thank you"));
            return;
        }
        switch (words[0]) {
            case "stream" -> {
                stream(updater, Integer.parseInt(rest));
                updater.complete(said(updater, "streamed"));
            }
            case "ask" -> updater.requiresInput(said(updater, "what is your name?"), true);
            case "slow" -> {
                if (isCanceledWithin(Double.parseDouble(rest), context.getTaskId())) {
                    return;
                }
                updater.addArtifact(List.of(new TextPart("done")), null, "slow", null);
                updater.complete(said(updater, "done"));
            }
            case "fail" -> updater.fail(said(updater, "failed as asked"));
            case "panic" -> {
                // The SDK drops the events that it has not sent when the executor throws.
                Thread.sleep(BEFORE_PANIC);
                throw new IllegalStateException("the executor crashed as asked");
            }
            case "extensions" -> {
                Set<String> named = context.getCallContext().getRequestedExtensions();
                String sorted = String.join(",", new TreeSet<>(named));
                updater.complete(said(updater, "extensions: " + sorted));
            }
            default -> {
                updater.addArtifact(List.of(new TextPart(rest)), null, "echo", null);
                updater.complete(said(updater, "echoed " + rest));
            }
        }
    }

    @Override
    public void cancel(RequestContext context, EventQueue events) {
        canceled.add(context.getTaskId());
        TaskUpdater updater = new TaskUpdater(context, events);
        updater.cancel(said(updater, "canceled as asked"));
    }

    private static void stream(TaskUpdater updater, int count) throws InterruptedException {
        for (int index = 0; index < count; index++) {
            updater.addArtifact(
                    List.of(new TextPart("chunk " + index + " ")),
                    "stream",
                    "stream",
                    null,
                    index > 0,
                    index + 1 == count);
            Thread.sleep(TICK);
        }
    }

    /** Waits, and returns whether the task was canceled in that time. */
    private boolean isCanceledWithin(double seconds, String taskId) throws InterruptedException {
        for (int ticks = (int) (seconds * 1000 / TICK); ticks > 0; ticks--) {
            Thread.sleep(TICK);
            if (canceled.remove(taskId)) {
                return true;
            }
        }
        return false;
    }

    private static Message said(TaskUpdater updater, String text) {
        return updater.newAgentMessage(List.of(new TextPart(text)), null);
    }
}
