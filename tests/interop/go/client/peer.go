package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// peer is an agent, called over one binding.
type peer struct {
	*a2aclient.Client
	address string
	card    *a2a.AgentCard
	factory *a2aclient.Factory
	// version is the revision that is spoken.
	version a2a.ProtocolVersion
}

// connect reads the card at address and creates a client for one binding only.
func connect(ctx context.Context, address string, binding a2a.TransportProtocol, compat bool) (*peer, error) {
	version, transports := a2a.Version, transports(address)
	if compat {
		version, transports = a2av0.Version, olderTransports(address)
	}
	transport, ok := transports[binding]
	if !ok {
		return nil, fmt.Errorf("unknown binding %q", binding)
	}
	card, err := agentcard.DefaultResolver.Resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	// With TLS on a loopback host the address of gRPC is a URL, which grpc-go does not accept.
	for _, one := range card.SupportedInterfaces {
		if one.ProtocolBinding == a2a.TransportProtocolGRPC {
			one.URL = strings.TrimPrefix(one.URL, "https://")
		}
	}
	factory := a2aclient.NewFactory(a2aclient.WithDefaultsDisabled(), transport)
	client, err := factory.CreateFromCard(ctx, card)
	if err != nil {
		return nil, err
	}
	return &peer{Client: client, address: address, card: card, factory: factory, version: version}, nil
}

// channel is TLS with the roots of the environment if the card has an https address, else plaintext.
func channel(address string) grpc.DialOption {
	if strings.HasPrefix(address, "https:") {
		return grpc.WithTransportCredentials(credentials.NewTLS(nil))
	}
	return grpc.WithTransportCredentials(insecure.NewCredentials())
}

func transports(address string) map[a2a.TransportProtocol]a2aclient.FactoryOption {
	return map[a2a.TransportProtocol]a2aclient.FactoryOption{
		a2a.TransportProtocolJSONRPC:  a2aclient.WithJSONRPCTransport(nil),
		a2a.TransportProtocolHTTPJSON: a2aclient.WithRESTTransport(nil),
		a2a.TransportProtocolGRPC:     a2agrpc.WithGRPCTransport(channel(address)),
	}
}

func olderTransports(address string) map[a2a.TransportProtocol]a2aclient.FactoryOption {
	return map[a2a.TransportProtocol]a2aclient.FactoryOption{
		a2a.TransportProtocolJSONRPC:  a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}),
		a2a.TransportProtocolHTTPJSON: a2av0.WithRESTTransport(a2av0.RESTTransportConfig{}),
		a2a.TransportProtocolGRPC:     a2agrpcv0.WithGRPCTransport(channel(address)),
	}
}

// parseOlderCard reads a card as an agent of 0.3 would have written it, without the members of 1.0.
func parseOlderCard(document []byte) (*a2a.AgentCard, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	delete(members, "supportedInterfaces")
	older, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	return a2av0.NewAgentCardParser()(older)
}

// isOlder returns whether 0.3 is spoken.
func (p *peer) isOlder() bool { return p.version != a2a.Version }

// request is a message to a new task.
func request(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// answer is a message to an existing task.
func answer(task *a2a.Task, text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart(text)),
	}
}

// inContext is a message to a new task in an existing context.
func inContext(contextID, text string) *a2a.SendMessageRequest {
	return answer(&a2a.Task{ContextID: contextID}, text)
}

// task sends a request that has to result in a task.
func (p *peer) task(ctx context.Context, request *a2a.SendMessageRequest) *a2a.Task {
	return check.Is[*a2a.Task](check.Must(p.SendMessage(ctx, request)))
}

// started returns a task that has not ended.
func (p *peer) started(ctx context.Context, text string) *a2a.Task {
	request := request(text)
	request.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return p.task(ctx, request)
}

func (p *peer) get(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return p.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
}

// until waits until the task is in a state.
func (p *peer) until(ctx context.Context, id a2a.TaskID, state a2a.TaskState) {
	check.Poll(ctx, func() bool { return check.Must(p.get(ctx, id)).Status.State == state })
}

// several creates tasks in a new context and returns their ids, oldest first.
func (p *peer) several(ctx context.Context, count int) (contextID string, ids []a2a.TaskID) {
	contextID = a2a.NewContextID()
	for index := range count {
		ids = append(ids, p.task(ctx, inContext(contextID, fmt.Sprintf("echo %d", index))).ID)
	}
	return contextID, ids
}

// collect reads a stream to its end.
func collect(events iter.Seq2[a2a.Event, error]) []a2a.Event {
	var all []a2a.Event
	for event, err := range events {
		all = append(all, check.Must(event, err))
	}
	check.That(len(all) > 0, "the stream was empty")
	return all
}

// refused asserts that a stream starts with an error.
func refused(events iter.Seq2[a2a.Event, error], expected error) {
	for _, err := range events {
		check.FailsWith(err, expected)
		return
	}
	check.Failf("expected the error %q, got an empty stream", expected)
}

// ends asserts that the last event is a status update with this state.
func ends(events []a2a.Event, state a2a.TaskState) {
	last := check.Is[*a2a.TaskStatusUpdateEvent](events[len(events)-1])
	check.Same(last.Status.State, state, "last state")
}

func text(parts a2a.ContentParts) string {
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(part.Text())
	}
	return all.String()
}

// said returns the text of the message of a status.
func said(status a2a.TaskStatus) string {
	check.That(status.Message != nil, "the status has no message")
	return text(status.Message.Parts)
}

func ids(tasks []*a2a.Task) []a2a.TaskID {
	all := make([]a2a.TaskID, 0, len(tasks))
	for _, task := range tasks {
		all = append(all, task.ID)
	}
	return all
}

func pointer[T any](value T) *T { return &value }
