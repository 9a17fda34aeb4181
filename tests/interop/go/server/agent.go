package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

const tick = 50 * time.Millisecond

var errCrash = errors.New("the executor crashed as asked")

// agent does what the words say, as an executor of the SDK.
type agent struct{}

func (agent) Execute(ctx context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		turn{request, yield}.perform(ctx)
	}
}

func (agent) Cancel(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		turn{request, yield}.status(a2a.TaskStateCanceled, "canceled as asked")
	}
}

// turn is the work on one message. Its methods return false when the SDK wants no more events.
type turn struct {
	*a2asrv.ExecutorContext
	yield func(a2a.Event, error) bool
}

func (t turn) perform(ctx context.Context) bool {
	input := text(t.Message.Parts)
	word, rest, _ := strings.Cut(input, " ")
	if word == "message" {
		answer := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("message: "+rest))
		answer.ContextID = t.ContextID
		return t.yield(answer, nil)
	}
	if t.StoredTask == nil && !t.submit() {
		return false
	}
	if !t.status(a2a.TaskStateWorking, "") {
		return false
	}
	switch {
	case strings.HasPrefix(t.Message.ID, "acc-echo"):
		return t.artifact("echo", t.Message.Parts...) && t.status(a2a.TaskStateCompleted, "echoed")
	case t.StoredTask != nil:
		return t.artifact("answer", a2a.NewTextPart(input)) && t.status(a2a.TaskStateCompleted, "thank you")
	case word == "stream":
		return t.stream(rest) && t.status(a2a.TaskStateCompleted, "streamed")
	case word == "ask":
		return t.status(a2a.TaskStateInputRequired, "what is your name?")
	case word == "slow":
		return t.sleep(ctx, rest) &&
			t.artifact("slow", a2a.NewTextPart("done")) && t.status(a2a.TaskStateCompleted, "done")
	case word == "fail":
		return t.status(a2a.TaskStateFailed, "failed as asked")
	case word == "panic":
		return t.yield(nil, errCrash)
	case word == "extensions":
		named, _ := t.ServiceParams.Get(a2a.SvcParamExtensions)
		return t.status(a2a.TaskStateCompleted, "extensions: "+strings.Join(slices.Sorted(slices.Values(named)), ","))
	default:
		return t.artifact("echo", a2a.NewTextPart(rest)) && t.status(a2a.TaskStateCompleted, "echoed "+rest)
	}
}

func (t turn) submit() bool {
	return t.yield(a2a.NewSubmittedTask(t, t.Message), nil)
}

func (t turn) status(state a2a.TaskState, said string) bool {
	var message *a2a.Message
	if said != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.NewTextPart(said))
	}
	return t.yield(a2a.NewStatusUpdateEvent(t, state, message), nil)
}

func (t turn) artifact(name string, parts ...*a2a.Part) bool {
	event := a2a.NewArtifactEvent(t, parts...)
	event.Artifact.Name = name
	event.LastChunk = true
	return t.yield(event, nil)
}

func (t turn) stream(length string) bool {
	count, err := strconv.Atoi(length)
	if err != nil {
		return t.yield(nil, err)
	}
	for index := range count {
		event := a2a.NewArtifactUpdateEvent(t, "stream", a2a.NewTextPart(fmt.Sprintf("chunk %d ", index)))
		event.Append = index > 0
		event.LastChunk = index+1 == count
		if !t.yield(event, nil) {
			return false
		}
		time.Sleep(tick)
	}
	return true
}

// sleep waits for some seconds, unless the task is canceled before.
func (t turn) sleep(ctx context.Context, seconds string) bool {
	duration, err := time.ParseDuration(seconds + "s")
	if err != nil {
		return t.yield(nil, err)
	}
	select {
	case <-time.After(duration):
		return true
	case <-ctx.Done():
		return false
	}
}

func text(parts a2a.ContentParts) string {
	var all strings.Builder
	for _, part := range parts {
		all.WriteString(part.Text())
	}
	return all.String()
}
