package main

import (
	"context"
	"slices"
	"time"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// pageSize is the default, named because the SDK sends 0 over gRPC if it is not. The check of
// filters leaves it out.
const pageSize = 50

func (p *peer) checkGet(ctx context.Context) {
	sent := p.task(ctx, request("echo stored"))
	check.Same(check.Must(p.get(ctx, sent.ID)), sent, "task")
	// In 0.3, the length 0 means no limit to some SDKs.
	lengths := []int{0, 1}
	if p.isOlder() {
		lengths = lengths[1:]
	}
	for _, length := range lengths {
		query := &a2a.GetTaskRequest{ID: sent.ID, HistoryLength: &length}
		check.Same(len(check.Must(p.GetTask(ctx, query)).History), length, "messages in the history")
	}
}

func (p *peer) checkListPages(ctx context.Context) {
	contextID, expected := p.several(ctx, 5)
	slices.Reverse(expected)
	var seen []a2a.TaskID
	token := ""
	for _, size := range []int{2, 2, 1} {
		page := check.Must(p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, PageSize: 2, PageToken: token}))
		check.Same(page.TotalSize, 5, "total size")
		check.Same(page.PageSize, 2, "page size")
		check.Same(len(page.Tasks), size, "tasks in the page")
		seen = append(seen, ids(page.Tasks)...)
		token = page.NextPageToken
	}
	check.Same(token, "", "token after the last page")
	check.Same(seen, expected, "tasks, newest first")
}

func (p *peer) checkListFilters(ctx context.Context) {
	contextID, expected := p.several(ctx, 2)
	slices.Reverse(expected)
	asking := p.task(ctx, inContext(contextID, "ask"))
	list := func(filter a2a.ListTasksRequest) []*a2a.Task {
		filter.ContextID = contextID
		return check.Must(p.ListTasks(ctx, &filter)).Tasks
	}
	without := list(a2a.ListTasksRequest{Status: a2a.TaskStateCompleted})
	check.Same(ids(without), expected, "completed tasks")
	for _, task := range without {
		check.Same(len(task.Artifacts), 0, "artifacts that were not requested")
	}
	full := list(a2a.ListTasksRequest{Status: a2a.TaskStateCompleted, IncludeArtifacts: true})
	check.Same(len(full), 2, "completed tasks with artifacts")
	for _, task := range full {
		check.Same(len(task.Artifacts), 1, "requested artifacts")
	}
	waiting := list(a2a.ListTasksRequest{Status: a2a.TaskStateInputRequired})
	check.Same(ids(waiting), []a2a.TaskID{asking.ID}, "waiting tasks")
	bare := list(a2a.ListTasksRequest{HistoryLength: pointer(0)})
	check.Same(len(bare), 3, "tasks without history")
	for _, task := range bare {
		check.Same(len(task.History), 0, "history that was not requested")
	}
}

func (p *peer) checkListSince(ctx context.Context) {
	contextID, _ := p.several(ctx, 2)
	// Over HTTP+JSON, the SDK sends times without their fractions of a second.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	asking := p.task(ctx, inContext(contextID, "ask"))
	filter := &a2a.ListTasksRequest{
		ContextID:            contextID,
		StatusTimestampAfter: asking.Status.Timestamp,
		PageSize:             pageSize,
	}
	listed := check.Must(p.ListTasks(ctx, filter)).Tasks
	check.Same(ids(listed), []a2a.TaskID{asking.ID}, "tasks since the last")
}

func (p *peer) checkCancel(ctx context.Context) {
	started := p.started(ctx, "slow 30")
	canceled := check.Must(p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: started.ID}))
	check.Same(canceled.ID, started.ID, "task id")
	check.Same(canceled.Status.State, a2a.TaskStateCanceled, "state")
	check.Same(check.Must(p.get(ctx, started.ID)).Status.State, a2a.TaskStateCanceled, "stored state")
}
