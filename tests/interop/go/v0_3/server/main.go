// The server is an agent on the official Go SDK of 0.3, over JSON-RPC and gRPC; that SDK has no
// HTTP+JSON.
//
// It prints one line of JSON with its addresses when it is ready, and runs until its standard
// input closes. It knows the words of ../../../python/server.py, which says what each does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2agrpc"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/push"
	"google.golang.org/grpc"
)

const extension = "https://example.com/extensions/interop/v1"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	base := "http://" + web.Addr().String()
	card := newCard(base, rpc.Addr().String())
	extended := *card
	extended.Skills = append(card.Skills[:1:1], skill("secret"))

	handler := a2asrv.NewHandler(
		agent{},
		a2asrv.WithExtendedAgentCard(&extended),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)),
	)
	routes := http.NewServeMux()
	routes.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	routes.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	services := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(services)

	failed := make(chan error, 2)
	go func() { failed <- http.Serve(web, routes) }()
	go func() { failed <- services.Serve(rpc) }()
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	ready := map[string]string{"card": base, "http": base, "grpc": rpc.Addr().String()}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	return <-failed
}

// newCard returns the card of the agent at these addresses.
func newCard(base, rpc string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:               "Interop agent (Go SDK 0.3)",
		Description:        "Answers by the first word of a message.",
		Version:            "1.0.0",
		ProtocolVersion:    string(a2a.Version),
		URL:                base + "/rpc",
		PreferredTransport: a2a.TransportProtocolJSONRPC,
		AdditionalInterfaces: []a2a.AgentInterface{
			{Transport: a2a.TransportProtocolJSONRPC, URL: base + "/rpc"},
			{Transport: a2a.TransportProtocolGRPC, URL: rpc},
		},
		Capabilities: a2a.AgentCapabilities{
			Streaming:         true,
			PushNotifications: true,
			Extensions:        []a2a.AgentExtension{{URI: extension, Description: "Named back to the client."}},
		},
		SupportsAuthenticatedExtendedCard: true,
		DefaultInputModes:                 []string{"text/plain"},
		DefaultOutputModes:                []string{"text/plain"},
		Skills:                            []a2a.AgentSkill{skill("echo")},
	}
}

func skill(name string) a2a.AgentSkill {
	return a2a.AgentSkill{ID: name, Name: name, Description: "The word " + name + ".", Tags: []string{"interop"}}
}
