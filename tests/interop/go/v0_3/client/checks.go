package main

import (
	"context"
	"encoding/json"
	"errors"

	"a2a.example/interop/driver/check"
	"a2a.example/interop/driver/webhook"
	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
)

const extension = "https://example.com/extensions/interop/v1"

func (p *peer) checkCard(context.Context) {
	bindings := map[a2a.TransportProtocol]bool{p.card.PreferredTransport: true}
	for _, one := range p.card.AdditionalInterfaces {
		bindings[one.Transport] = true
	}
	check.That(bindings[p.binding], "the card has no %s", p.binding)
	check.Same(p.card.ProtocolVersion[:3], "0.3", "protocol version")
	check.That(p.card.Name != "" && p.card.Version != "", "the card has no name or no version")
	check.That(p.card.Capabilities.Streaming, "streaming is not declared")
	check.That(p.card.Capabilities.PushNotifications, "push notifications are not declared")
	check.That(p.card.SupportsAuthenticatedExtendedCard, "the extended card is not declared")
	check.That(len(p.card.Skills) > 0, "the card has no skill")
}

func (p *peer) checkExtendedCard(ctx context.Context) {
	extended := check.Must(p.GetAgentCard(ctx))
	check.Same(extended.Name, p.card.Name, "name")
	check.That(len(extended.Skills) > len(p.card.Skills), "the extended card has no more skills")
}

func (p *peer) checkSend(ctx context.Context) {
	contextID := a2a.NewContextID()
	task := p.task(ctx, answer(&a2a.Task{ContextID: contextID}, "echo hello"))
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(task.ContextID, contextID, "context id")
	check.Same(len(task.Artifacts), 1, "artifacts")
	check.Same(text(task.Artifacts[0].Parts), "hello", "text of the artifact")
	check.That(task.Status.Timestamp != nil, "the status has no timestamp")
	check.That(len(task.History) > 0, "the history is empty")
	check.Same(task.History[0].Role, a2a.MessageRoleUser, "role of the first message of the history")
	check.Same(text(task.History[0].Parts), "echo hello", "first message of the history")
}

// checkSendMessage leaves out the configuration, as the SDK does by default: then it expects the
// agent to block.
func (p *peer) checkSendMessage(ctx context.Context) {
	message := check.Is[*a2a.Message](check.Must(p.SendMessage(ctx, params("message hi"))))
	check.Same(message.Role, a2a.MessageRoleAgent, "role")
	check.That(message.ID != "", "the message has no id")
	check.That(text(message.Parts) != "", "the message has no text")
}

func (p *peer) checkSendParts(ctx context.Context) {
	parts := a2a.ContentParts{
		a2a.TextPart{Text: "Grüße, 世界 🌍\n\"quoted\""},
		a2a.DataPart{Data: map[string]any{
			"whole":    7.0,
			"fraction": 0.25,
			"text":     "Grüße, 世界 🌍",
			"list":     []any{true, map[string]any{"deep": []any{1.0, 2.0}}},
		}},
		a2a.FilePart{File: a2a.FileBytes{
			FileMeta: a2a.FileMeta{Name: "bytes.bin", MimeType: "application/octet-stream"},
			Bytes:    "AAECA/8=",
		}},
		a2a.FilePart{File: a2a.FileURI{
			FileMeta: a2a.FileMeta{Name: "b", MimeType: "text/html"},
			URI:      "https://example.com/a%20b?c=d",
		}},
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	message.ID = "acc-echo-" + message.ID
	task := p.task(ctx, &a2a.MessageSendParams{Message: message})
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(len(task.Artifacts), 1, "artifacts")
	check.Same(task.Artifacts[0].Parts, parts, "parts")
}

func (p *peer) checkSendImmediately(ctx context.Context) {
	polling := p.with(ctx, a2aclient.WithConfig(a2aclient.Config{Polling: true}))
	defer polling.Destroy()
	task := check.Is[*a2a.Task](check.Must(polling.SendMessage(ctx, params("slow 1"))))
	state := task.Status.State
	early := state == a2a.TaskStateSubmitted || state == a2a.TaskStateWorking
	check.That(early, "answered when the task was %s", state)
	p.until(ctx, task.ID, a2a.TaskStateCompleted)
}

func (p *peer) checkMultiTurn(ctx context.Context) {
	first := p.task(ctx, params("ask"))
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

func (p *peer) checkFailedTask(ctx context.Context) {
	task := p.task(ctx, params("fail"))
	check.Same(task.Status.State, a2a.TaskStateFailed, "state")
	check.That(said(task.Status) != "", "the failure has no message")
}

func (p *peer) checkCrashedTask(ctx context.Context) {
	check.Same(p.task(ctx, params("panic")).Status.State, a2a.TaskStateFailed, "state")
}

func (p *peer) checkExtensions(ctx context.Context) {
	meta := a2aclient.CallMeta{"X-A2A-Extensions": {extension}}
	extended := p.with(ctx, a2aclient.WithInterceptors(a2aclient.NewStaticCallMetaInjector(meta)))
	defer extended.Destroy()
	params := params("extensions")
	params.Message.ID = "acc-ext-" + params.Message.ID
	task := extended.task(ctx, params)
	check.Same(task.Status.State, a2a.TaskStateCompleted, "state")
	check.Same(said(task.Status), "extensions: "+extension, "status")
}

func (p *peer) checkStream(ctx context.Context) {
	events := p.stream(ctx, params("stream 5"))
	task := check.Is[*a2a.Task](events[0])
	ends(events, a2a.TaskStateCompleted)
	var updates []*a2a.TaskArtifactUpdateEvent
	var parts a2a.ContentParts
	for _, event := range events {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			check.Same(update.TaskID, task.ID, "task id of the chunk")
			check.Same(update.Append, len(updates) > 0, "append")
			updates = append(updates, update)
			parts = append(parts, update.Artifact.Parts...)
		}
	}
	check.Same(len(updates), 5, "chunks")
	check.That(updates[4].LastChunk, "the last chunk is not marked")
	stored := check.Must(p.get(ctx, task.ID))
	check.Same(len(stored.Artifacts), 1, "stored artifacts")
	check.Same(text(stored.Artifacts[0].Parts), text(parts), "stored text")
}

func (p *peer) checkStreamMessage(ctx context.Context) {
	events := p.stream(ctx, params("message hi"))
	check.Same(len(events), 1, "events")
	check.That(text(check.Is[*a2a.Message](events[0]).Parts) != "", "the message has no text")
}

func (p *peer) checkStreamInput(ctx context.Context) {
	asked := p.stream(ctx, params("ask"))
	ends(asked, a2a.TaskStateInputRequired)
	ends(p.stream(ctx, answer(check.Is[*a2a.Task](asked[0]), "Ada")), a2a.TaskStateCompleted)
}

func (p *peer) checkStreamCrash(ctx context.Context) {
	ends(p.stream(ctx, params("panic")), a2a.TaskStateFailed)
}

func (p *peer) checkSubscribe(ctx context.Context) {
	started := p.started(ctx, "slow 2")
	events := collect(p.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: started.ID}))
	for _, event := range events {
		check.Same(event.TaskInfo().TaskID, started.ID, "task id")
	}
	ends(events, a2a.TaskStateCompleted)
}

func (p *peer) checkGet(ctx context.Context) {
	sent := p.task(ctx, params("echo stored"))
	check.Same(check.Must(p.get(ctx, sent.ID)), sent, "task")
	length := 1
	got := check.Must(p.GetTask(ctx, &a2a.TaskQueryParams{ID: sent.ID, HistoryLength: &length}))
	check.Same(len(got.History), length, "messages in the history")
}

func (p *peer) checkCancel(ctx context.Context) {
	started := p.started(ctx, "slow 30")
	canceled := check.Must(p.CancelTask(ctx, &a2a.TaskIDParams{ID: started.ID}))
	check.Same(canceled.ID, started.ID, "task id")
	check.Same(canceled.Status.State, a2a.TaskStateCanceled, "state")
	check.Same(check.Must(p.get(ctx, started.ID)).Status.State, a2a.TaskStateCanceled, "stored state")
}

// place is what the SDKs agree on in a push config.
type place struct {
	Task    a2a.TaskID
	ID, URL string
}

func placeOf(config *a2a.TaskPushConfig) place {
	return place{config.TaskID, config.Config.ID, config.Config.URL}
}

func (p *peer) checkPushConfigs(ctx context.Context) {
	id := p.task(ctx, params("ask")).ID
	places := map[string]place{}
	for _, name := range []string{"first", "second"} {
		places[name] = place{id, name, "http://127.0.0.1:9/" + name}
		created := check.Must(p.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: id, Config: a2a.PushConfig{
			ID:    name,
			URL:   places[name].URL,
			Token: "secret",
			Auth:  &a2a.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "credential"},
		}}))
		check.Same(placeOf(created), places[name], "created config")
	}
	got := check.Must(p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigParams{TaskID: id, ConfigID: "first"}))
	check.Same(placeOf(got), places["first"], "config")
	check.Same(p.listPushConfigs(ctx, id), places, "configs")
	check.OK(p.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigParams{TaskID: id, ConfigID: "first"}))
	delete(places, "first")
	check.Same(p.listPushConfigs(ctx, id), places, "configs after the deletion")
}

func (p *peer) listPushConfigs(ctx context.Context, id a2a.TaskID) map[string]place {
	places := map[string]place{}
	for _, config := range check.Must(p.ListTaskPushConfig(ctx, &a2a.ListTaskPushConfigParams{TaskID: id})) {
		places[config.Config.ID] = placeOf(config)
	}
	return places
}

// completed waits for the delivery of the completed task, and checks one header of it.
func completed(ctx context.Context, receiver *webhook.Receiver, id a2a.TaskID, header, value string) {
	delivery := receiver.Until(ctx, func(delivery webhook.Delivery) bool {
		var task struct {
			Kind string `json:"kind"`
			a2a.Task
		}
		check.OK(json.Unmarshal(delivery.Body, &task))
		check.Same(task.Kind, "task", "kind of the delivery")
		check.Same(task.ID, id, "task id of the delivery")
		return task.Status.State == a2a.TaskStateCompleted
	})
	check.Same(delivery.Header.Get(header), value, header)
}

func (p *peer) checkPushDelivery(ctx context.Context) {
	receiver := webhook.Listen()
	defer receiver.Close()
	id := p.started(ctx, "slow 1").ID
	config := a2a.PushConfig{ID: "first", URL: receiver.URL, Token: "secret"}
	check.Must(p.SetTaskPushConfig(ctx, &a2a.TaskPushConfig{TaskID: id, Config: config}))
	completed(ctx, receiver, id, "X-A2A-Notification-Token", "secret")
}

func (p *peer) checkPushWithMessage(ctx context.Context) {
	receiver := webhook.Listen()
	defer receiver.Close()
	params := blocking(params("echo hello"), true)
	params.Config.PushConfig = &a2a.PushConfig{
		ID:   "first",
		URL:  receiver.URL,
		Auth: &a2a.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "credential"},
	}
	id := p.task(ctx, params).ID
	completed(ctx, receiver, id, "Authorization", "Bearer credential")
}

func (p *peer) checkUnknownTask(ctx context.Context) {
	unknown := &a2a.Task{ID: a2a.NewTaskID()}
	id := &a2a.TaskIDParams{ID: unknown.ID}
	_, err := p.get(ctx, unknown.ID)
	check.FailsWith(err, a2a.ErrTaskNotFound)
	_, err = p.CancelTask(ctx, id)
	check.FailsWith(err, a2a.ErrTaskNotFound)
	_, err = p.SendMessage(ctx, answer(unknown, "hi"))
	check.FailsWith(err, a2a.ErrTaskNotFound)
	refused(p.SendStreamingMessage(ctx, answer(unknown, "hi")), a2a.ErrTaskNotFound)
	refused(p.ResubscribeToTask(ctx, id), a2a.ErrTaskNotFound)
}

func (p *peer) checkCancelTerminal(ctx context.Context) {
	task := p.task(ctx, params("echo hello"))
	_, err := p.CancelTask(ctx, &a2a.TaskIDParams{ID: task.ID})
	check.FailsWith(err, a2a.ErrTaskNotCancelable)
}

// checkSendTerminal accepts both errors: 0.3 doesn't say which.
func (p *peer) checkSendTerminal(ctx context.Context) {
	task := p.task(ctx, params("echo hello"))
	_, err := p.SendMessage(ctx, answer(task, "again"))
	if !errors.Is(err, a2a.ErrInvalidParams) {
		check.FailsWith(err, a2a.ErrUnsupportedOperation)
	}
}

func (p *peer) checkContext(ctx context.Context) {
	task := p.task(ctx, params("ask"))
	task.ContextID = a2a.NewContextID()
	_, err := p.SendMessage(ctx, answer(task, "Ada"))
	check.FailsWith(err, a2a.ErrInvalidParams)
}
