package interop.v0_3;

import static interop.Expect.expect;
import static interop.Expect.same;
import static interop.v0_3.Peer.answer;
import static interop.v0_3.Peer.message;

import com.google.gson.JsonObject;
import interop.Driver;
import interop.Driver.Check;
import interop.Driver.CommandLine;
import interop.Webhook;
import io.a2a.client.http.A2ACardResolver;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.Artifact;
import io.a2a.spec.DataPart;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.FilePart;
import io.a2a.spec.FileWithBytes;
import io.a2a.spec.FileWithUri;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.JSONRPCError;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationAuthenticationInfo;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.spec.TextPart;
import io.a2a.util.Utils;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Every operation of 0.3, by the client of the official Java SDK, against one agent.
 *
 * <pre>client --card URL --binding JSONRPC|HTTP+JSON|GRPC [--only OPERATION]...</pre>
 *
 * <p>Prints one line of JSON per check: {@code {"operation": ..., "ok": true|false, "detail":
 * ...}}. The agent has to know the words of ../python/server.py.
 */
final class Client {
    private static final String EXTENSION = "https://example.com/extensions/interop/v1";

    private static final int TASK_NOT_FOUND = -32001;
    private static final int TASK_NOT_CANCELABLE = -32002;
    private static final int UNSUPPORTED_OPERATION = -32004;
    private static final int INVALID_REQUEST = -32600;
    private static final int INVALID_PARAMS = -32602;

    private final Peer peer;

    private Client(Peer peer) {
        this.peer = peer;
    }

    static void main(String[] arguments) throws Exception {
        CommandLine line = CommandLine.parse(arguments);
        AgentCard card = new A2ACardResolver(line.card()).getAgentCard();
        Driver.run(new Client(new Peer(card, line.binding())).checks(), line.only());
    }

    private Map<String, Check> checks() {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("card", this::card);
        checks.put("extended-card", this::extendedCard);
        checks.put("send", this::send);
        checks.put("send-message", this::sendMessage);
        checks.put("send-parts", this::sendParts);
        checks.put("send-immediately", this::sendImmediately);
        checks.put("multi-turn", this::multiTurn);
        checks.put("failed-task", this::failedTask);
        checks.put("crashed-task", this::crashedTask);
        checks.put("extensions", this::extensions);
        checks.put("stream", this::stream);
        checks.put("stream-message", this::streamMessage);
        checks.put("stream-input", this::streamInput);
        checks.put("stream-crash", this::streamCrash);
        checks.put("subscribe", this::subscribe);
        checks.put("get", this::get);
        checks.put("cancel", this::cancel);
        checks.put("push-configs", this::pushConfigs);
        checks.put("push-delivery", this::pushDelivery);
        checks.put("push-with-message", this::pushWithMessage);
        checks.put("error-unknown-task", this::errorUnknownTask);
        checks.put("error-cancel-terminal", this::errorCancelTerminal);
        checks.put("error-send-terminal", this::errorSendTerminal);
        checks.put("error-context", this::errorContext);
        return checks;
    }

    // The card.

    private void card() {
        AgentCard card = peer.card;
        expect(card.protocolVersion().startsWith("0.3"), "version " + card.protocolVersion());
        Set<String> bindings = new HashSet<>(Set.of(card.preferredTransport()));
        card.additionalInterfaces().stream().map(AgentInterface::transport).forEach(bindings::add);
        expect(bindings.contains(peer.binding), "the card has " + peer.binding + ": " + bindings);
        expect(!card.name().isEmpty(), "the card has a name");
        expect(!card.version().isEmpty(), "the card has a version");
        expect(card.capabilities().streaming(), "streaming is declared");
        expect(card.capabilities().pushNotifications(), "push notifications are declared");
        expect(card.supportsAuthenticatedExtendedCard(), "the extended card is declared");
        expect(!card.skills().isEmpty(), "the card has a skill");
    }

    private void extendedCard() throws Exception {
        AgentCard extended = peer.extendedCard();
        same(extended.name(), peer.card.name(), "name");
        same(extended.skills().size(), peer.card.skills().size() + 1, "skills");
    }

    // Sends.

    private void send() throws Exception {
        String contextId = UUID.randomUUID().toString();
        Task task = peer.task(message("echo hello").contextId(contextId).build());
        stateIs(task, TaskState.COMPLETED);
        same(task.getContextId(), contextId, "context id");
        same(task.getArtifacts().size(), 1, "artifacts");
        same(text(task.getArtifacts().get(0)), "hello", "text of the artifact");
        // No check of the timestamp: the SDK makes one up where none was sent.
        Message first = task.getHistory().get(0);
        same(first.getRole(), Message.Role.USER, "role of the first message of the history");
        same(text(first.getParts()), "echo hello", "first message of the history");
    }

    private void sendMessage() throws Exception {
        Message answer = messageIn(peer.send(message("message hi").build()));
        same(answer.getRole(), Message.Role.AGENT, "role");
        expect(!answer.getMessageId().isEmpty(), "the message has an id");
        expect(!text(answer.getParts()).isEmpty(), "the message has text");
    }

    private void sendParts() throws Exception {
        Map<String, Object> data = Map.of(
                "fraction", 0.25,
                "text", "Grüße, 世界 🌍",
                "list", List.of(true, Map.of("deep", List.of("a", "b"))));
        Part<?>[] parts = {
            new TextPart("Grüße, 世界 🌍\n\"quoted\""),
            new DataPart(data),
            new FilePart(new FileWithBytes("application/octet-stream", "bytes.bin", "AAECA/8=")),
            new FilePart(new FileWithUri("text/html", "b", "https://example.com/a%20b?c=d")),
        };
        Task task = peer.task(message(parts).messageId("acc-echo-" + UUID.randomUUID()).build());
        stateIs(task, TaskState.COMPLETED);
        same(plain(task.getArtifacts().get(0).parts()), plain(List.of(parts)), "parts");
    }

    private void sendImmediately() throws Exception {
        Task task = peer.started("slow 1");
        TaskState state = task.getStatus().state();
        boolean isEarly = state == TaskState.SUBMITTED || state == TaskState.WORKING;
        expect(isEarly, "answered when the task was " + state);
        peer.until(task.getId(), TaskState.COMPLETED);
    }

    private void multiTurn() throws Exception {
        Task first = peer.task("ask");
        stateIs(first, TaskState.INPUT_REQUIRED);
        expect(!text(first.getStatus().message().getParts()).isEmpty(), "the question has text");
        Task second = peer.task(answer(first, "Ada"));
        same(second.getId(), first.getId(), "task id");
        same(second.getContextId(), first.getContextId(), "context id");
        stateIs(second, TaskState.COMPLETED);
        List<String> said = second.getHistory().stream()
                .filter(message -> message.getRole() == Message.Role.USER)
                .map(message -> text(message.getParts()))
                .toList();
        same(said, List.of("ask", "Ada"), "what the user said");
    }

    private void failedTask() throws Exception {
        Task task = peer.task("fail");
        stateIs(task, TaskState.FAILED);
        expect(!text(task.getStatus().message().getParts()).isEmpty(), "the failure has a message");
    }

    private void crashedTask() throws Exception {
        Task task = peer.task("panic");
        stateIs(task, TaskState.FAILED);
        Message reason = task.getStatus().message();
        expect(
                reason == null || !text(reason.getParts()).contains("on purpose"),
                "internal text stays inside");
    }

    private void extensions() throws Exception {
        Message asked = message("extensions").messageId("acc-ext-" + UUID.randomUUID()).build();
        Task task = peer.task(asked, Map.of("X-A2A-Extensions", EXTENSION));
        stateIs(task, TaskState.COMPLETED);
        same(text(task.getStatus().message().getParts()), "extensions: " + EXTENSION, "status");
    }

    // Streams.

    private void stream() throws Exception {
        List<StreamingEventKind> events = peer.stream(message("stream 5").build());
        Task task = taskIn(events.get(0));
        endsWith(events, TaskState.COMPLETED);
        List<TaskArtifactUpdateEvent> chunks = events.stream()
                .filter(TaskArtifactUpdateEvent.class::isInstance)
                .map(TaskArtifactUpdateEvent.class::cast)
                .toList();
        List<Boolean> appended =
                chunks.stream().map(chunk -> Boolean.TRUE.equals(chunk.isAppend())).toList();
        same(appended, List.of(false, true, true, true, true), "append");
        same(chunks.get(4).isLastChunk(), true, "last chunk of the last");
        expect(
                chunks.stream().allMatch(chunk -> chunk.getTaskId().equals(task.getId())),
                "task id of the chunks");
        Task stored = peer.get(task.getId());
        same(stored.getArtifacts().size(), 1, "stored artifacts");
        String text = chunks.stream()
                .map(chunk -> text(chunk.getArtifact()))
                .collect(Collectors.joining());
        same(text(stored.getArtifacts().get(0)), text, "stored text");
    }

    private void streamMessage() throws Exception {
        List<StreamingEventKind> events = peer.stream(message("message hi").build());
        same(events.size(), 1, "events");
        expect(!text(messageIn(events.get(0)).getParts()).isEmpty(), "the message has text");
    }

    private void streamInput() throws Exception {
        List<StreamingEventKind> asking = peer.stream(message("ask").build());
        endsWith(asking, TaskState.INPUT_REQUIRED);
        endsWith(peer.stream(answer(taskIn(asking.get(0)), "Ada")), TaskState.COMPLETED);
    }

    private void streamCrash() throws Exception {
        endsWith(peer.stream(message("panic").build()), TaskState.FAILED);
    }

    private void subscribe() throws Exception {
        String id = peer.started("slow 2").getId();
        List<StreamingEventKind> events = peer.resubscribe(id);
        expect(events.stream().allMatch(event -> id.equals(taskId(event))), "ids of the events");
        endsWith(events, TaskState.COMPLETED);
    }

    // Tasks.

    private void get() throws Exception {
        Task sent = peer.task("echo stored");
        same(plain(peer.get(sent.getId())), plain(sent), "task");
        Task got = peer.blocking.getTask(new TaskQueryParams(sent.getId(), 1));
        same(got.getHistory().size(), 1, "history of length 1");
    }

    private void cancel() throws Exception {
        String id = peer.started("slow 30").getId();
        Task canceled = peer.blocking.cancelTask(new TaskIdParams(id));
        same(canceled.getId(), id, "task id");
        stateIs(canceled, TaskState.CANCELED);
        stateIs(peer.get(id), TaskState.CANCELED);
    }

    // Push notifications.

    private static PushNotificationConfig.Builder config(String id, String url) {
        return new PushNotificationConfig.Builder().id(id).url(url);
    }

    private void pushConfigs() throws Exception {
        String taskId = peer.task("ask").getId();
        PushNotificationConfig first = config("first", "http://127.0.0.1:9/first")
                .token("secret")
                .authenticationInfo(
                        new PushNotificationAuthenticationInfo(List.of("Bearer"), "credential"))
                .build();
        PushNotificationConfig second = config("second", "http://127.0.0.1:9/second").build();
        for (PushNotificationConfig config : List.of(first, second)) {
            TaskPushNotificationConfig asked = new TaskPushNotificationConfig(taskId, config);
            TaskPushNotificationConfig created =
                    peer.blocking.setTaskPushNotificationConfiguration(asked);
            same(place(created), place(asked), "created");
        }
        TaskPushNotificationConfig got = peer.blocking.getTaskPushNotificationConfiguration(
                new GetTaskPushNotificationConfigParams(taskId, "first"));
        same(place(got), List.of(taskId, "first", first.url()), "config");
        same(listed(taskId), Set.of(first.url(), second.url()), "configs");
        peer.blocking.deleteTaskPushNotificationConfigurations(
                new DeleteTaskPushNotificationConfigParams(taskId, "first"));
        same(listed(taskId), Set.of(second.url()), "configs after the deletion");
    }

    private Set<String> listed(String taskId) throws Exception {
        return peer.blocking
                .listTaskPushNotificationConfigurations(
                        new ListTaskPushNotificationConfigParams(taskId))
                .stream()
                .map(config -> config.pushNotificationConfig().url())
                .collect(Collectors.toSet());
    }

    private static List<String> place(TaskPushNotificationConfig config) {
        PushNotificationConfig inner = config.pushNotificationConfig();
        return List.of(config.taskId(), inner.id(), inner.url());
    }

    private void pushDelivery() throws Exception {
        try (Webhook webhook = new Webhook()) {
            String id = peer.started("slow 1").getId();
            PushNotificationConfig config = config("first", webhook.url()).token("secret").build();
            peer.blocking.setTaskPushNotificationConfiguration(
                    new TaskPushNotificationConfig(id, config));
            isDelivered(webhook, id, "X-A2A-Notification-Token", "secret");
        }
    }

    private void pushWithMessage() throws Exception {
        try (Webhook webhook = new Webhook()) {
            PushNotificationConfig config = config("first", webhook.url())
                    .authenticationInfo(
                            new PushNotificationAuthenticationInfo(List.of("Bearer"), "credential"))
                    .build();
            Task task = peer.task(peer.withWebhook(config), message("echo hello").build());
            isDelivered(webhook, task.getId(), "Authorization", "Bearer credential");
        }
    }

    /** Waits for the delivery of the completed task, with a header. */
    private static void isDelivered(Webhook webhook, String id, String header, String value)
            throws Exception {
        Webhook.Delivery delivery = webhook.until(body -> {
            JsonObject status = body.getAsJsonObject("status");
            return status != null && status.get("state").getAsString().equals("completed");
        });
        same(delivery.body().get("kind").getAsString(), "task", "kind of the delivery");
        Task task = Utils.unmarshalFrom(delivery.body().toString(), Task.TYPE_REFERENCE);
        same(task.getId(), id, "task id of the delivery");
        same(delivery.headers().getFirst(header), value, header);
    }

    // Errors.

    private void errorUnknownTask() {
        String id = UUID.randomUUID().toString();
        Message lost = message("hi").taskId(id).build();
        failsWith(() -> peer.get(id), "get", TASK_NOT_FOUND);
        failsWith(() -> peer.blocking.cancelTask(new TaskIdParams(id)), "cancel", TASK_NOT_FOUND);
        failsWith(() -> peer.send(lost), "send", TASK_NOT_FOUND);
        failsWith(() -> peer.stream(lost), "stream", TASK_NOT_FOUND);
        failsWith(() -> peer.resubscribe(id), "resubscribe", TASK_NOT_FOUND);
    }

    private void errorCancelTerminal() throws Exception {
        TaskIdParams done = new TaskIdParams(peer.task("echo hello").getId());
        failsWith(() -> peer.blocking.cancelTask(done), "cancel", TASK_NOT_CANCELABLE);
    }

    private void errorSendTerminal() throws Exception {
        Task task = peer.task("echo hello");
        // Not specified.
        failsWith(
                () -> peer.send(answer(task, "again")),
                "send",
                INVALID_REQUEST,
                INVALID_PARAMS,
                UNSUPPORTED_OPERATION);
    }

    private void errorContext() throws Exception {
        Task task = peer.task("ask");
        Message elsewhere =
                message("Ada").taskId(task.getId()).contextId(UUID.randomUUID().toString()).build();
        failsWith(() -> peer.send(elsewhere), "send", INVALID_PARAMS);
    }

    /** Fails unless {@code call} fails with an error of the SDK that has one of the codes. */
    private static void failsWith(Check call, String what, Integer... codes) {
        List<Integer> expected = Arrays.asList(codes);
        try {
            call.run();
        } catch (Exception | JSONRPCError error) {
            Integer code = null;
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (cause instanceof JSONRPCError coded) {
                    code = coded.getCode();
                }
            }
            expect(
                    expected.contains(code),
                    what + ": expected " + expected + ", got " + code + ": " + error);
            return;
        }
        throw new AssertionError(what + ": expected " + expected + ", got an answer");
    }

    // Contents.

    private static void stateIs(Task task, TaskState state) {
        same(task.getStatus().state(), state, "state");
    }

    /** Fails unless the last event, and no other, is final, with {@code state}. */
    private static void endsWith(List<StreamingEventKind> events, TaskState state) {
        List<TaskStatusUpdateEvent> finals = new ArrayList<>();
        for (StreamingEventKind event : events) {
            if (event instanceof TaskStatusUpdateEvent update && update.isFinal()) {
                finals.add(update);
            }
        }
        same(finals.size(), 1, "final events");
        expect(finals.get(0) == events.get(events.size() - 1), "the last event is final");
        same(finals.get(0).getStatus().state(), state, "last state");
    }

    private static Task taskIn(StreamingEventKind event) {
        expect(event instanceof Task, "expected a task, got " + event);
        return (Task) event;
    }

    private static Message messageIn(StreamingEventKind event) {
        expect(event instanceof Message, "expected a message, got " + event);
        return (Message) event;
    }

    private static String taskId(StreamingEventKind event) {
        if (event instanceof Task task) {
            return task.getId();
        }
        if (event instanceof TaskStatusUpdateEvent update) {
            return update.getTaskId();
        }
        return event instanceof TaskArtifactUpdateEvent update ? update.getTaskId() : null;
    }

    private static String text(Artifact artifact) {
        return text(artifact.parts());
    }

    private static String text(List<Part<?>> parts) {
        return parts.stream()
                .filter(TextPart.class::isInstance)
                .map(part -> ((TextPart) part).getText())
                .collect(Collectors.joining());
    }

    /** An object of the SDK as JSON, which compares by value. */
    private static Object plain(Object object) {
        return Utils.OBJECT_MAPPER.valueToTree(object);
    }
}
