package main

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// peer is an agent, called over one binding.
type peer struct {
	*a2aclient.Client
	card    *a2a.AgentCard
	binding a2a.TransportProtocol
	factory *a2aclient.Factory
}

// connect reads the card at address and creates a client for one binding only.
func connect(ctx context.Context, address string, binding a2a.TransportProtocol) (*peer, error) {
	transports := map[a2a.TransportProtocol]a2aclient.FactoryOption{
		a2a.TransportProtocolJSONRPC: a2aclient.WithJSONRPCTransport(nil),
		a2a.TransportProtocolGRPC: a2aclient.WithGRPCTransport(
			grpc.WithTransportCredentials(insecure.NewCredentials())),
	}
	transport, ok := transports[binding]
	if !ok {
		return nil, fmt.Errorf("the SDK has no binding %q", binding)
	}
	card, err := agentcard.DefaultResolver.Resolve(ctx, address)
	if err != nil {
		return nil, err
	}
	factory := a2aclient.NewFactory(a2aclient.WithDefaultsDisabled(), transport)
	client, err := factory.CreateFromCard(ctx, card)
	if err != nil {
		return nil, err
	}
	return &peer{Client: client, card: card, binding: binding, factory: factory}, nil
}

// with returns a client with more options.
func (p *peer) with(ctx context.Context, option a2aclient.FactoryOption) *peer {
	factory := a2aclient.WithAdditionalOptions(p.factory, option)
	client := check.Must(factory.CreateFromCard(ctx, p.card))
	return &peer{Client: client, card: p.card, binding: p.binding, factory: factory}
}

// params is a message to a new task.
func params(text string) *a2a.MessageSendParams {
	return answer(&a2a.Task{}, text)
}

// answer is a message to an existing task.
func answer(task *a2a.Task, text string) *a2a.MessageSendParams {
	message := a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.TextPart{Text: text})
	return &a2a.MessageSendParams{Message: message}
}

// blocking makes the agent answer at the end of the task, or at once.
func blocking(params *a2a.MessageSendParams, value bool) *a2a.MessageSendParams {
	params.Config = &a2a.MessageSendConfig{Blocking: &value}
	return params
}

// task sends a message that has to result in a task, at its end.
func (p *peer) task(ctx context.Context, params *a2a.MessageSendParams) *a2a.Task {
	if params.Config == nil {
		// Not every agent blocks without a configuration over gRPC.
		params = blocking(params, true)
	}
	return check.Is[*a2a.Task](check.Must(p.SendMessage(ctx, params)))
}

// started returns a task that has not ended.
func (p *peer) started(ctx context.Context, text string) *a2a.Task {
	return p.task(ctx, blocking(params(text), false))
}

func (p *peer) get(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return p.GetTask(ctx, &a2a.TaskQueryParams{ID: id})
}

// until waits until the task is in a state.
func (p *peer) until(ctx context.Context, id a2a.TaskID, state a2a.TaskState) {
	check.Poll(ctx, func() bool { return check.Must(p.get(ctx, id)).Status.State == state })
}

func (p *peer) stream(ctx context.Context, params *a2a.MessageSendParams) []a2a.Event {
	return collect(p.SendStreamingMessage(ctx, params))
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

// ends asserts that only the last event is final, and has this state.
func ends(events []a2a.Event, state a2a.TaskState) {
	for index, event := range events {
		update, ok := event.(*a2a.TaskStatusUpdateEvent)
		check.Same(ok && update.Final, index+1 == len(events), fmt.Sprintf("final of event %d", index))
	}
	last := check.Is[*a2a.TaskStatusUpdateEvent](events[len(events)-1])
	check.Same(last.Status.State, state, "last state")
}

func text(parts a2a.ContentParts) string {
	var all strings.Builder
	for _, part := range parts {
		if part, ok := part.(a2a.TextPart); ok {
			all.WriteString(part.Text)
		}
	}
	return all.String()
}

// said returns the text of the message of a status.
func said(status a2a.TaskStatus) string {
	check.That(status.Message != nil, "the status has no message")
	return text(status.Message.Parts)
}
