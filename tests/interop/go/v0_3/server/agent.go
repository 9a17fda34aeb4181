package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

const tick = 50 * time.Millisecond

var errCrash = errors.New("the executor crashed as asked")

// agent does what the words say, as an executor of the SDK.
type agent struct{}

func (agent) Execute(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	return turn{request, queue}.perform(ctx)
}

func (agent) Cancel(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	return turn{request, queue}.end(ctx, a2a.TaskStateCanceled, "canceled as asked")
}

// turn is the work on one message.
type turn struct {
	*a2asrv.RequestContext
	queue eventqueue.Queue
}

func (t turn) perform(ctx context.Context) error {
	input := text(t.Message.Parts)
	word, rest, _ := strings.Cut(input, " ")
	if word == "message" {
		answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: "message: " + rest})
		answer.ContextID = t.ContextID
		return t.queue.Write(ctx, answer)
	}
	if t.StoredTask == nil {
		if err := t.queue.Write(ctx, a2a.NewSubmittedTask(t, t.Message)); err != nil {
			return err
		}
	}
	if err := t.queue.Write(ctx, a2a.NewStatusUpdateEvent(t, a2a.TaskStateWorking, nil)); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(t.Message.ID, "acc-echo"):
		return t.complete(ctx, "echoed", "echo", t.Message.Parts...)
	case t.StoredTask != nil:
		return t.complete(ctx, "thank you", "answer", a2a.TextPart{Text: input})
	case word == "stream":
		return t.stream(ctx, rest)
	case word == "ask":
		return t.end(ctx, a2a.TaskStateInputRequired, "what is your name?")
	case word == "slow":
		return t.slow(ctx, rest)
	case word == "fail":
		return t.end(ctx, a2a.TaskStateFailed, "failed as asked")
	case word == "panic":
		return errCrash
	case word == "extensions":
		return t.end(ctx, a2a.TaskStateCompleted, "extensions: "+requestedExtensions(ctx))
	default:
		return t.complete(ctx, "echoed "+rest, "echo", a2a.TextPart{Text: rest})
	}
}

// end writes the last event of the turn.
func (t turn) end(ctx context.Context, state a2a.TaskState, said string) error {
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.TextPart{Text: said})
	event := a2a.NewStatusUpdateEvent(t, state, message)
	event.Final = true
	return t.queue.Write(ctx, event)
}

// complete writes an artifact and ends the task.
func (t turn) complete(ctx context.Context, said, name string, parts ...a2a.Part) error {
	event := a2a.NewArtifactEvent(t, parts...)
	event.Artifact.Name = name
	event.LastChunk = true
	if err := t.queue.Write(ctx, event); err != nil {
		return err
	}
	return t.end(ctx, a2a.TaskStateCompleted, said)
}

func (t turn) stream(ctx context.Context, length string) error {
	count, err := strconv.Atoi(length)
	if err != nil {
		return err
	}
	for index := range count {
		chunk := a2a.TextPart{Text: fmt.Sprintf("chunk %d ", index)}
		event := a2a.NewArtifactUpdateEvent(t, "stream", chunk)
		event.Append = index > 0
		event.LastChunk = index+1 == count
		if err := t.queue.Write(ctx, event); err != nil {
			return err
		}
		time.Sleep(tick)
	}
	return t.end(ctx, a2a.TaskStateCompleted, "streamed")
}

// slow works for some seconds, unless the task is canceled before.
func (t turn) slow(ctx context.Context, seconds string) error {
	duration, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return err
	}
	select {
	case <-time.After(duration):
		return t.complete(ctx, "done", "slow", a2a.TextPart{Text: "done"})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func requestedExtensions(ctx context.Context) string {
	extensions, ok := a2asrv.ExtensionsFrom(ctx)
	if !ok {
		return ""
	}
	return strings.Join(slices.Sorted(slices.Values(extensions.RequestedURIs())), ",")
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
