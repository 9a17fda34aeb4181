package main

import (
	"bytes"
	"context"
	"strings"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

const extension = "https://example.com/extensions/interop/v1"

func (p *peer) checkCard(ctx context.Context) {
	card := p.card
	if p.isOlder() {
		resolver := agentcard.Resolver{CardParser: parseOlderCard}
		card = check.Must(resolver.Resolve(ctx, p.address))
	}
	bindings := map[a2a.TransportProtocol]bool{}
	for _, one := range card.SupportedInterfaces {
		if strings.HasPrefix(string(one.ProtocolVersion), string(p.version)) {
			bindings[one.ProtocolBinding] = true
		}
	}
	check.Same(bindings, map[a2a.TransportProtocol]bool{
		a2a.TransportProtocolJSONRPC:  true,
		a2a.TransportProtocolHTTPJSON: true,
		a2a.TransportProtocolGRPC:     true,
	}, "bindings")
	check.That(card.Name != "" && card.Version != "", "the card has no name or no version")
	check.That(card.Capabilities.Streaming, "streaming is not declared")
	check.That(card.Capabilities.PushNotifications, "push notifications are not declared")
	check.That(len(card.Skills) > 0, "the card has no skill")
}

func (p *peer) checkExtendedCard(ctx context.Context) {
	extended := check.Must(p.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}))
	check.Same(extended.Name, p.card.Name, "name")
	check.That(len(extended.Skills) > len(p.card.Skills), "the extended card has no more skills")
}

func (p *peer) checkSend(ctx context.Context) {
	contextID := a2a.NewContextID()
	task := p.task(ctx, inContext(contextID, "echo hello"))
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(task.ContextID, contextID, "context id")
	check.Same(len(task.Artifacts), 1, "artifacts")
	check.Same(text(task.Artifacts[0].Parts), "hello", "text of the artifact")
	check.That(task.Status.Timestamp != nil, "the status has no timestamp")
	check.That(len(task.History) > 0, "the history is empty")
	check.Same(task.History[0].Role, a2a.MessageRoleUser, "role of the first message of the history")
	check.Same(text(task.History[0].Parts), "echo hello", "first message of the history")
}

func (p *peer) checkSendMessage(ctx context.Context) {
	message := check.Is[*a2a.Message](check.Must(p.SendMessage(ctx, request("message hi"))))
	check.Same(message.Role, a2a.MessageRoleAgent, "role")
	check.That(message.ID != "", "the message has no id")
	check.That(text(message.Parts) != "", "the message has no text")
}

// echoed sends parts to be answered with the same parts.
func (p *peer) echoed(ctx context.Context, parts ...*a2a.Part) *a2a.Task {
	message := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	message.ID = "acc-echo-" + message.ID
	task := p.task(ctx, &a2a.SendMessageRequest{Message: message})
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(len(task.Artifacts), 1, "artifacts")
	return task
}

// allBytes is every byte, some times.
func allBytes(times int) []byte {
	var each [256]byte
	for index := range each {
		each[index] = byte(index)
	}
	return bytes.Repeat(each[:], times)
}

func (p *peer) checkSendParts(ctx context.Context) {
	words := a2a.NewTextPart("Grüße, 世界 🌍\n\"quoted\"")
	if !p.isOlder() {
		// In 0.3, only files have a type.
		words.MediaType = "text/plain"
	}
	data := a2a.NewDataPart(map[string]any{
		"whole":    7.0,
		"big":      9007199254740991.0,
		"fraction": 0.25,
		"text":     "Grüße, 世界 🌍",
		"null":     nil,
		"list":     []any{true, map[string]any{"deep": []any{1.0, 2.0}}},
	})
	data.SetMeta("note", "a")
	raw := a2a.NewRawPart(allBytes(1))
	raw.Filename, raw.MediaType = "bytes.bin", "application/octet-stream"
	link := a2a.NewFileURLPart("https://example.com/a%20b?c=d", "text/html")
	link.Filename = "b"
	parts := a2a.ContentParts{words, data, raw, link}
	task := p.echoed(ctx, parts...)
	check.Same(task.Artifacts[0].Parts, parts, "parts")
	check.That(len(task.History) > 0, "the history is empty")
	check.Same(task.History[0].Parts, parts, "parts of the history")
}

func (p *peer) checkSendLarge(ctx context.Context) {
	sent := a2a.NewRawPart(allBytes(4096))
	sent.MediaType = "application/octet-stream"
	task := p.echoed(ctx, sent)
	check.Same(task.Artifacts[0].Parts, a2a.ContentParts{sent}, "parts")
}

func (p *peer) checkSendImmediately(ctx context.Context) {
	task := p.started(ctx, "slow 1")
	state := task.Status.State
	early := state == a2a.TaskStateSubmitted || state == a2a.TaskStateWorking
	check.That(early, "answered when the task was %s", state)
	p.until(ctx, task.ID, a2a.TaskStateCompleted)
}

func (p *peer) checkSendHistoryLength(ctx context.Context) {
	request := request("echo hello")
	request.Config = &a2a.SendMessageConfig{HistoryLength: pointer(0)}
	task := p.task(ctx, request)
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(len(task.History), 0, "messages in the history")
}

func (p *peer) checkMultiTurn(ctx context.Context) {
	first := p.task(ctx, request("ask"))
	check.Same(first.Status.State, a2a.TaskStateInputRequired, "state")
	check.That(said(first.Status) != "", "the question has no text")
	second := p.task(ctx, answer(first, "Ada"))
	check.Same(second.TaskInfo(), first.TaskInfo(), "ids")
	check.Same(second.Status.State, a2a.TaskStateCompleted, "state")
	var user []string
	for _, message := range second.History {
		if message.Role == a2a.MessageRoleUser {
			user = append(user, text(message.Parts))
		}
	}
	check.Same(user, []string{"ask", "Ada"}, "messages of the user")
}

func (p *peer) checkTenant(ctx context.Context) {
	tenant := "acme-" + a2a.NewMessageID()
	request := request("echo hello")
	request.Tenant = tenant
	task := p.task(ctx, request)
	got := check.Must(p.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, Tenant: tenant}))
	check.Same(got, task, "task of the tenant")
	listed := check.Must(p.ListTasks(ctx, &a2a.ListTasksRequest{Tenant: tenant, PageSize: pageSize}))
	check.Same(ids(listed.Tasks), []a2a.TaskID{task.ID}, "tasks of the tenant")
	_, err := p.get(ctx, task.ID)
	check.FailsWith(err, a2a.ErrTaskNotFound)
	_, err = p.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, Tenant: "other"})
	check.FailsWith(err, a2a.ErrTaskNotFound)
}

func (p *peer) checkFailedTask(ctx context.Context) {
	task := p.task(ctx, request("fail"))
	check.Same(task.Status.State, a2a.TaskStateFailed, "state")
	check.That(said(task.Status) != "", "the failure has no message")
}

func (p *peer) checkCrashedTask(ctx context.Context) {
	task := p.task(ctx, request("panic"))
	check.Same(task.Status.State, a2a.TaskStateFailed, "state")
	check.That(!strings.Contains(said(task.Status), "on purpose"), "the message has internal text")
}

func (p *peer) checkExtensions(ctx context.Context) {
	ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{a2a.SvcParamExtensions: {extension}})
	request := request("extensions")
	request.Message.ID = "acc-ext-" + request.Message.ID
	task := p.task(ctx, request)
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(said(task.Status), "extensions: "+extension, "status")
}
