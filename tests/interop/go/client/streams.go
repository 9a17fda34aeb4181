package main

import (
	"context"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
)

func (p *peer) stream(ctx context.Context, request *a2a.SendMessageRequest) []a2a.Event {
	return collect(p.SendStreamingMessage(ctx, request))
}

func (p *peer) subscribe(ctx context.Context, id a2a.TaskID) []a2a.Event {
	return collect(p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}))
}

// chunks returns the artifact updates of a stream.
func chunks(events []a2a.Event) []*a2a.TaskArtifactUpdateEvent {
	var all []*a2a.TaskArtifactUpdateEvent
	for _, event := range events {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			all = append(all, update)
		}
	}
	return all
}

func (p *peer) checkStream(ctx context.Context) {
	events := p.stream(ctx, request("stream 5"))
	task := check.Is[*a2a.Task](events[0])
	for _, event := range events[1:] {
		_, again := event.(*a2a.Task)
		check.That(!again, "the stream has a second task")
	}
	ends(events, a2a.TaskStateCompleted)
	updates := chunks(events)
	check.Same(len(updates), 5, "chunks")
	var parts a2a.ContentParts
	for index, update := range updates {
		check.Same(update.TaskID, task.ID, "task id of the chunk")
		check.Same(update.Artifact.ID, updates[0].Artifact.ID, "artifact id of the chunk")
		check.Same(update.Append, index > 0, "append")
		parts = append(parts, update.Artifact.Parts...)
	}
	check.That(updates[4].LastChunk, "the last chunk is not marked")
	stored := check.Must(p.get(ctx, task.ID))
	check.Same(len(stored.Artifacts), 1, "stored artifacts")
	check.Same(text(stored.Artifacts[0].Parts), text(parts), "stored text")
}

func (p *peer) checkStreamMessage(ctx context.Context) {
	events := p.stream(ctx, request("message hi"))
	check.Same(len(events), 1, "events")
	check.That(text(check.Is[*a2a.Message](events[0]).Parts) != "", "the message has no text")
}

func (p *peer) checkStreamInput(ctx context.Context) {
	asked := p.stream(ctx, request("ask"))
	ends(asked, a2a.TaskStateInputRequired)
	ends(p.stream(ctx, answer(check.Is[*a2a.Task](asked[0]), "Ada")), a2a.TaskStateCompleted)
}

func (p *peer) checkStreamCrash(ctx context.Context) {
	ends(p.stream(ctx, request("panic")), a2a.TaskStateFailed)
}

// checkStreamSilence calls an agent that is silent for longer than some clients wait.
func (p *peer) checkStreamSilence(ctx context.Context) {
	request := request("think")
	request.Message.ID = "acc-slow-" + request.Message.ID
	request.Message.SetMeta("delayMs", 7000)
	ends(p.stream(ctx, request), a2a.TaskStateCompleted)
}

// checkStreamCut closes a stream and subscribes again: no event is lost.
func (p *peer) checkStreamCut(ctx context.Context) {
	cut, cancel := context.WithCancel(ctx)
	defer cancel()
	var before []a2a.Event
	for event, err := range p.SendStreamingMessage(cut, request("stream 40")) {
		before = append(before, check.Must(event, err))
		if len(before) == 6 {
			break
		}
	}
	cancel()
	id := check.Is[*a2a.Task](before[0]).ID
	events := p.subscribe(ctx, id)
	ends(events, a2a.TaskStateCompleted)
	task := check.Is[*a2a.Task](events[0])
	check.Same(len(task.Artifacts), 1, "artifacts in the first event")
	parts := task.Artifacts[0].Parts
	check.That(len(parts) >= 3 && len(parts) < 40, "the first event has %d of 40 parts", len(parts))
	for _, update := range chunks(events) {
		parts = append(parts, update.Artifact.Parts...)
	}
	stored := check.Must(p.get(ctx, id)).Artifacts[0].Parts
	check.Same(len(stored), 40, "stored parts")
	check.Same(parts, stored, "assembled parts")
}

func (p *peer) checkSubscribe(ctx context.Context) {
	started := p.started(ctx, "slow 2")
	events := p.subscribe(ctx, started.ID)
	check.Same(check.Is[*a2a.Task](events[0]).ID, started.ID, "task id")
	ends(events, a2a.TaskStateCompleted)
}

// checkSubscribeInput subscribes to a task that waits: the stream stays open until the answer.
func (p *peer) checkSubscribeInput(ctx context.Context) {
	asking := p.task(ctx, request("ask"))
	var events []a2a.Event
	for event, err := range p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: asking.ID}) {
		events = append(events, check.Must(event, err))
		if len(events) == 1 {
			first := check.Is[*a2a.Task](event)
			check.Same(first.Status.State, a2a.TaskStateInputRequired, "first state")
			p.task(ctx, answer(asking, "Ada"))
		}
	}
	check.That(len(events) > 0, "the stream was empty")
	ends(events, a2a.TaskStateCompleted)
}
