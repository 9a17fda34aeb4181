package main

import (
	"context"
	"encoding/json"
	"maps"

	"a2a.example/interop/driver/check"
	"a2a.example/interop/driver/webhook"
	older "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

func (p *peer) checkPushConfigs(ctx context.Context) {
	id := p.task(ctx, request("ask")).ID
	urls := map[string]string{"first": "http://127.0.0.1:9/first", "second": "http://127.0.0.1:9/second"}
	for _, name := range []string{"first", "second"} {
		created := check.Must(p.CreateTaskPushConfig(ctx, &a2a.PushConfig{
			TaskID: id,
			ID:     name,
			URL:    urls[name],
			Token:  "secret",
			Auth:   &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credential"},
		}))
		check.Same([]string{string(created.TaskID), created.ID, created.URL},
			[]string{string(id), name, urls[name]}, "created config")
	}
	got := check.Must(p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: id, ID: "first"}))
	check.Same([]string{string(got.TaskID), got.ID, got.URL},
		[]string{string(id), "first", urls["first"]}, "config")
	check.Same(p.listPushConfigs(ctx, id), urls, "configs")
	check.OK(p.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: id, ID: "first"}))
	maps.DeleteFunc(urls, func(name, _ string) bool { return name == "first" })
	check.Same(p.listPushConfigs(ctx, id), urls, "configs after the deletion")
}

// listPushConfigs returns the URLs of the configs of a task, by their ids.
func (p *peer) listPushConfigs(ctx context.Context, id a2a.TaskID) map[string]string {
	urls := map[string]string{}
	for _, config := range check.Must(p.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: id})) {
		urls[config.ID] = config.URL
	}
	return urls
}

// read returns the event of a delivery: in 1.0 a response of a stream, in 0.3 a task.
func (p *peer) read(delivery webhook.Delivery) a2a.Event {
	if p.isOlder() {
		return check.Must(a2av0.ToV1Event(check.Must(older.UnmarshalEventJSON(delivery.Body))))
	}
	var response a2a.StreamResponse
	check.OK(json.Unmarshal(delivery.Body, &response))
	return response.Event
}

// completed waits for the delivery of the completed task, and checks one header of it.
func (p *peer) completed(ctx context.Context, receiver *webhook.Receiver, id a2a.TaskID, header, value string) {
	delivery := receiver.Until(ctx, func(delivery webhook.Delivery) bool {
		event := p.read(delivery)
		check.Same(event.TaskInfo().TaskID, id, "task id of the delivery")
		var status a2a.TaskStatus
		switch event := event.(type) {
		case *a2a.Task:
			status = event.Status
		case *a2a.TaskStatusUpdateEvent:
			status = event.Status
		}
		return status.State == a2a.TaskStateCompleted
	})
	check.Same(delivery.Header.Get(header), value, header)
}

func (p *peer) checkPushDelivery(ctx context.Context) {
	receiver := webhook.Listen()
	defer receiver.Close()
	id := p.started(ctx, "slow 1").ID
	config := &a2a.PushConfig{TaskID: id, ID: "first", URL: receiver.URL, Token: "secret"}
	check.Must(p.CreateTaskPushConfig(ctx, config))
	p.completed(ctx, receiver, id, "X-A2A-Notification-Token", "secret")
}

func (p *peer) checkPushWithMessage(ctx context.Context) {
	receiver := webhook.Listen()
	defer receiver.Close()
	request := request("echo hello")
	request.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
		URL:  receiver.URL,
		Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "credential"},
	}}
	id := p.task(ctx, request).ID
	p.completed(ctx, receiver, id, "Authorization", "Bearer credential")
}
