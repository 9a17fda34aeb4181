package interop.v0_3;

import interop.Expect;
import io.a2a.client.Client;
import io.a2a.client.ClientBuilder;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.grpc.GrpcTransportConfig;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfig;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfig;
import io.a2a.client.transport.spi.interceptors.ClientCallContext;
import io.a2a.spec.A2AClientException;
import io.a2a.spec.AgentCard;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.StreamingEventKind;
import io.a2a.spec.Task;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import io.grpc.Channel;
import io.grpc.ManagedChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** An agent over one binding, called with the clients that the SDK has. */
final class Peer {
    /** Poll interval, in milliseconds. */
    private static final int POLL = 50;

    final AgentCard card;
    final String binding;
    final Client blocking;
    private final Client polling;
    private final Client streaming;

    Peer(AgentCard card, String binding) throws A2AClientException {
        this.card = card;
        this.binding = binding;
        blocking = connect(new ClientConfig.Builder().setStreaming(false));
        polling = connect(new ClientConfig.Builder().setStreaming(false).setPolling(true));
        streaming = connect(new ClientConfig.Builder().setStreaming(true));
    }

    /** A client of the binding. */
    private Client connect(ClientConfig.Builder config) throws A2AClientException {
        ClientBuilder builder = Client.builder(card).clientConfig(config.build());
        return switch (binding) {
            case "JSONRPC" -> builder
                    .withTransport(JSONRPCTransport.class, new JSONRPCTransportConfig())
                    .build();
            case "HTTP+JSON" -> builder
                    .withTransport(RestTransport.class, new RestTransportConfig())
                    .build();
            case "GRPC" -> builder
                    .withTransport(GrpcTransport.class, new GrpcTransportConfig(Peer::plaintext))
                    .build();
            default -> throw new IllegalArgumentException(binding);
        };
    }

    private static Channel plaintext(String address) {
        return ManagedChannelBuilder.forTarget(address).usePlaintext().build();
    }

    /** A client that registers a webhook with every message. */
    Client withWebhook(PushNotificationConfig config) throws A2AClientException {
        ClientConfig.Builder settings = new ClientConfig.Builder().setStreaming(false);
        return connect(settings.setPushNotificationConfig(config));
    }

    AgentCard extendedCard() throws A2AClientException {
        if (binding.equals("HTTP+JSON")) {
            // Only a transport without a card asks for one.
            String url = card.additionalInterfaces().stream()
                    .filter(one -> one.transport().equals(binding))
                    .findFirst()
                    .orElseThrow()
                    .url();
            return new RestTransport(null, null, url, null).getAgentCard(null);
        }
        // A separate client, because it keeps the card.
        return connect(new ClientConfig.Builder()).getAgentCard();
    }

    static Message.Builder message(Part<?>... parts) {
        return new Message.Builder()
                .role(Message.Role.USER)
                .messageId(UUID.randomUUID().toString())
                .parts(parts);
    }

    static Message.Builder message(String text) {
        return message(new TextPart(text));
    }

    /** A message that continues {@code task}. */
    static Message answer(Task task, String text) {
        return message(text).taskId(task.getId()).contextId(task.getContextId()).build();
    }

    /** Sends and waits for the response. */
    StreamingEventKind send(Message message) throws A2AClientException {
        return send(blocking, message, null);
    }

    private static StreamingEventKind send(
            Client client, Message message, ClientCallContext context) throws A2AClientException {
        List<StreamingEventKind> answers = new ArrayList<>();
        client.sendMessage(
                message,
                List.of((event, card) -> answers.add(Events.payload(event))),
                null,
                context);
        Expect.same(answers.size(), 1, "answers");
        return answers.get(0);
    }

    private static Task task(StreamingEventKind answer) {
        Expect.expect(answer instanceof Task, "expected a task, got " + answer);
        return (Task) answer;
    }

    Task task(Message message) throws A2AClientException {
        return task(send(message));
    }

    Task task(String text) throws A2AClientException {
        return task(message(text).build());
    }

    Task task(Client client, Message message) throws A2AClientException {
        return task(send(client, message, null));
    }

    /** Sends with headers. */
    Task task(Message message, Map<String, String> headers) throws A2AClientException {
        return task(send(blocking, message, new ClientCallContext(Map.of(), headers)));
    }

    /** A task that was returned before its end. */
    Task started(String text) throws A2AClientException {
        return task(send(polling, message(text).build(), null));
    }

    List<StreamingEventKind> stream(Message message) throws Exception {
        Events events = new Events();
        streaming.sendMessage(
                message, List.of((event, card) -> events.accept(event)), events::fail, null);
        return events.all();
    }

    List<StreamingEventKind> resubscribe(String id) throws Exception {
        Events events = new Events();
        streaming.resubscribe(
                new TaskIdParams(id),
                List.of((event, card) -> events.accept(event)),
                events::fail,
                null);
        return events.all();
    }

    Task get(String id) throws A2AClientException {
        return blocking.getTask(new TaskQueryParams(id));
    }

    /** The task once it is in {@code state}. */
    Task until(String id, TaskState state) throws Exception {
        while (true) {
            Task task = get(id);
            if (task.getStatus().state() == state) {
                return task;
            }
            Thread.sleep(POLL);
        }
    }
}
