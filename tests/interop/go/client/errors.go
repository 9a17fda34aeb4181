package main

import (
	"context"
	"errors"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
)

func (p *peer) checkUnknownTask(ctx context.Context) {
	unknown := &a2a.Task{ID: a2a.NewTaskID()}
	_, err := p.get(ctx, unknown.ID)
	check.FailsWith(err, a2a.ErrTaskNotFound)
	_, err = p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: unknown.ID})
	check.FailsWith(err, a2a.ErrTaskNotFound)
	_, err = p.SendMessage(ctx, answer(unknown, "hi"))
	check.FailsWith(err, a2a.ErrTaskNotFound)
	refused(p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: unknown.ID}), a2a.ErrTaskNotFound)
	refused(p.SendStreamingMessage(ctx, answer(unknown, "hi")), a2a.ErrTaskNotFound)
}

func (p *peer) checkCancelTerminal(ctx context.Context) {
	task := p.task(ctx, request("echo hello"))
	_, err := p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	check.FailsWith(err, a2a.ErrTaskNotCancelable)
}

func (p *peer) checkSubscribeTerminal(ctx context.Context) {
	task := p.task(ctx, request("echo hello"))
	refused(p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}), a2a.ErrUnsupportedOperation)
}

func (p *peer) checkSendTerminal(ctx context.Context) {
	task := p.task(ctx, request("echo hello"))
	_, err := p.SendMessage(ctx, answer(task, "again"))
	if p.isOlder() && errors.Is(err, a2a.ErrInvalidParams) {
		// 0.3 doesn't say which error it is.
		return
	}
	check.FailsWith(err, a2a.ErrUnsupportedOperation)
	refused(p.SendStreamingMessage(ctx, answer(task, "again")), a2a.ErrUnsupportedOperation)
}

func (p *peer) checkContext(ctx context.Context) {
	task := p.task(ctx, request("ask"))
	task.ContextID = a2a.NewContextID()
	_, err := p.SendMessage(ctx, answer(task, "Ada"))
	check.FailsWith(err, a2a.ErrInvalidParams)
}

// checkPageSize tries sizes on both sides of 1..100. The SDK omits 0, so the lower one is -1.
func (p *peer) checkPageSize(ctx context.Context) {
	for _, size := range []int{-1, 101} {
		_, err := p.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: size})
		check.FailsWith(err, a2a.ErrInvalidParams)
	}
}

func (p *peer) checkEmptyMessage(ctx context.Context) {
	message := a2a.NewMessage(a2a.MessageRoleUser)
	_, err := p.SendMessage(ctx, &a2a.SendMessageRequest{Message: message})
	check.FailsWith(err, a2a.ErrInvalidParams)
}

func (p *peer) checkUnknownPushConfig(ctx context.Context) {
	task := p.task(ctx, request("ask"))
	_, err := p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "unknown"})
	check.FailsWith(err, a2a.ErrTaskNotFound)
}

// otherVersion replaces the version that the client sends.
type otherVersion struct {
	a2aclient.PassthroughInterceptor
}

func (otherVersion) Before(ctx context.Context, request *a2aclient.Request) (context.Context, any, error) {
	request.ServiceParams[a2a.SvcParamVersion] = []string{"9.9"}
	return ctx, nil, nil
}

func (p *peer) checkVersion(ctx context.Context) {
	factory := a2aclient.WithAdditionalOptions(p.factory, a2aclient.WithCallInterceptors(otherVersion{}))
	client := check.Must(factory.CreateFromCard(ctx, p.card))
	defer client.Destroy()
	_, err := client.ListTasks(ctx, &a2a.ListTasksRequest{})
	check.FailsWith(err, a2a.ErrVersionNotSupported)
}
