// The client runs every operation of 0.3 with the client of the official Go SDK of that revision,
// against one agent.
//
//	client --card URL --binding JSONRPC|GRPC [--only OPERATION]...
//
// It prints one line of JSON per operation: {"operation": …, "ok": true|false, "detail": …}.
// The agent has to know the words of ../../../python/server.py.
package main

import (
	"context"
	"fmt"
	"os"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/a2a"
)

func main() {
	arguments := check.ParseArguments()
	agent, err := connect(context.Background(), arguments.Card, a2a.TransportProtocol(arguments.Binding))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	check.Run([]check.Operation{
		{Name: "card", Run: agent.checkCard},
		{Name: "extended-card", Run: agent.checkExtendedCard},
		{Name: "send", Run: agent.checkSend},
		{Name: "send-message", Run: agent.checkSendMessage},
		{Name: "send-parts", Run: agent.checkSendParts},
		{Name: "send-immediately", Run: agent.checkSendImmediately},
		{Name: "multi-turn", Run: agent.checkMultiTurn},
		{Name: "failed-task", Run: agent.checkFailedTask},
		{Name: "crashed-task", Run: agent.checkCrashedTask},
		{Name: "extensions", Run: agent.checkExtensions},
		{Name: "stream", Run: agent.checkStream},
		{Name: "stream-message", Run: agent.checkStreamMessage},
		{Name: "stream-input", Run: agent.checkStreamInput},
		{Name: "stream-crash", Run: agent.checkStreamCrash},
		{Name: "subscribe", Run: agent.checkSubscribe},
		{Name: "get", Run: agent.checkGet},
		{Name: "cancel", Run: agent.checkCancel},
		{Name: "push-configs", Run: agent.checkPushConfigs},
		{Name: "push-delivery", Run: agent.checkPushDelivery},
		{Name: "push-with-message", Run: agent.checkPushWithMessage},
		{Name: "error-unknown-task", Run: agent.checkUnknownTask},
		{Name: "error-cancel-terminal", Run: agent.checkCancelTerminal},
		{Name: "error-send-terminal", Run: agent.checkSendTerminal},
		{Name: "error-context", Run: agent.checkContext},
	}, arguments.Only)
}
