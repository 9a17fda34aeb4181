// The client runs every operation with the client of the official Go SDK, against one agent.
//
//	client --card URL --binding JSONRPC|HTTP+JSON|GRPC [--compat] [--only OPERATION]...
//
// With --compat it takes the agent for one of 0.3, and runs the operations of that revision.
// It prints one line of JSON per operation: {"operation": …, "ok": true|false, "detail": …}.
// The agent has to know the words of ../../python/server.py.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"a2a.example/interop/driver/check"
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// current lists the operations that 0.3 doesn't have, or doesn't specify reliably.
var current = []string{
	"send-large",
	"send-history-length",
	"tenant",
	"stream-silence",
	"stream-cut",
	"subscribe-input",
	"list-pages",
	"list-filters",
	"list-since",
	"error-subscribe-terminal",
	"error-page-size",
	"error-empty-message",
	"error-push-config",
	"error-version",
}

func main() {
	arguments := check.ParseArguments()
	binding := a2a.TransportProtocol(arguments.Binding)
	agent, err := connect(context.Background(), arguments.Card, binding, arguments.Compat)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	operations := []check.Operation{
		{Name: "card", Run: agent.checkCard},
		{Name: "extended-card", Run: agent.checkExtendedCard},
		{Name: "send", Run: agent.checkSend},
		{Name: "send-message", Run: agent.checkSendMessage},
		{Name: "send-parts", Run: agent.checkSendParts},
		{Name: "send-large", Run: agent.checkSendLarge},
		{Name: "send-immediately", Run: agent.checkSendImmediately},
		{Name: "send-history-length", Run: agent.checkSendHistoryLength},
		{Name: "multi-turn", Run: agent.checkMultiTurn},
		{Name: "tenant", Run: agent.checkTenant},
		{Name: "failed-task", Run: agent.checkFailedTask},
		{Name: "crashed-task", Run: agent.checkCrashedTask},
		{Name: "extensions", Run: agent.checkExtensions},
		{Name: "stream", Run: agent.checkStream},
		{Name: "stream-message", Run: agent.checkStreamMessage},
		{Name: "stream-input", Run: agent.checkStreamInput},
		{Name: "stream-crash", Run: agent.checkStreamCrash},
		{Name: "stream-silence", Run: agent.checkStreamSilence},
		{Name: "stream-cut", Run: agent.checkStreamCut},
		{Name: "subscribe", Run: agent.checkSubscribe},
		{Name: "subscribe-input", Run: agent.checkSubscribeInput},
		{Name: "get", Run: agent.checkGet},
		{Name: "list-pages", Run: agent.checkListPages},
		{Name: "list-filters", Run: agent.checkListFilters},
		{Name: "list-since", Run: agent.checkListSince},
		{Name: "cancel", Run: agent.checkCancel},
		{Name: "push-configs", Run: agent.checkPushConfigs},
		{Name: "push-delivery", Run: agent.checkPushDelivery},
		{Name: "push-with-message", Run: agent.checkPushWithMessage},
		{Name: "error-unknown-task", Run: agent.checkUnknownTask},
		{Name: "error-cancel-terminal", Run: agent.checkCancelTerminal},
		{Name: "error-subscribe-terminal", Run: agent.checkSubscribeTerminal},
		{Name: "error-send-terminal", Run: agent.checkSendTerminal},
		{Name: "error-context", Run: agent.checkContext},
		{Name: "error-page-size", Run: agent.checkPageSize},
		{Name: "error-empty-message", Run: agent.checkEmptyMessage},
		{Name: "error-push-config", Run: agent.checkUnknownPushConfig},
		{Name: "error-version", Run: agent.checkVersion},
	}
	if arguments.Compat {
		operations = slices.DeleteFunc(operations, func(one check.Operation) bool {
			return slices.Contains(current, one.Name)
		})
	}
	check.Run(operations, arguments.Only)
}
