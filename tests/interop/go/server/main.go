// The server is an agent on the official Go SDK, over JSON-RPC, HTTP+JSON and gRPC.
//
//	server [--compat]
//
// It prints one line of JSON with its addresses when it is ready, and runs until its standard
// input closes. With --compat it serves 0.3, too. It knows the words of ../../python/server.py, which says what each does.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"google.golang.org/grpc"
)

const (
	extension = "https://example.com/extensions/interop/v1"
	// The SDK serves paths with a tenant by a handler of its own.
	tenant = "acme"
)

func main() {
	compat := flag.Bool("compat", false, "serve 0.3, too")
	flag.Parse()
	if err := run(*compat); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(compat bool) error {
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
	if compat {
		card.SupportedInterfaces = append(card.SupportedInterfaces, olderInterfaces(base, rpc.Addr().String())...)
	}
	extended := *card
	extended.Skills = append(card.Skills[:1:1], skill("secret"))

	handler := a2asrv.NewHandler(
		agent{},
		a2asrv.WithCapabilityChecks(&card.Capabilities),
		a2asrv.WithExtendedAgentCard(&extended),
		a2asrv.WithCallInterceptors(signIn{}),
		a2asrv.WithPushNotifications(
			push.NewInMemoryStore(),
			// The receivers of the checks are on this host.
			push.NewHTTPPushSender(&push.HTTPSenderConfig{AllowPrivateNetworks: true}),
		),
	)
	routes := http.NewServeMux()
	routes.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	routes.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	routes.Handle("/rest/"+tenant+"/", http.StripPrefix("/rest", a2asrv.NewTenantRESTHandler("/{*}", handler)))
	services := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(services)
	if compat {
		producer := a2av0.NewStaticAgentCardProducer(card)
		routes.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewAgentCardHandler(producer))
		routes.Handle("/older/rpc", a2av0.NewJSONRPCHandler(handler))
		routes.Handle("/older/rest/", http.StripPrefix("/older/rest", a2av0.NewRESTHandler(handler)))
		a2agrpcv0.NewHandler(handler).RegisterWith(services)
	} else {
		routes.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	}

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

// signIn gives all callers a name: the SDK lists tasks only for authenticated ones.
type signIn struct {
	a2asrv.PassthroughCallInterceptor
}

func (signIn) Before(ctx context.Context, call *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	call.User = a2asrv.NewAuthenticatedUser("interop", nil)
	return ctx, nil, nil
}

// newCard returns the card of the agent at these addresses.
func newCard(base, rpc string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:        "Interop agent (Go SDK)",
		Description: "Answers by the first word of a message.",
		Version:     "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base+"/rest", a2a.TransportProtocolHTTPJSON),
			a2a.NewAgentInterface(rpc, a2a.TransportProtocolGRPC),
		},
		Capabilities: a2a.AgentCapabilities{
			Streaming:         true,
			PushNotifications: true,
			ExtendedAgentCard: true,
			Extensions:        []a2a.AgentExtension{{URI: extension, Description: "Named back to the client."}},
		},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{skill("echo")},
	}
}

// olderInterfaces are the interfaces of 0.3.
func olderInterfaces(base, rpc string) []*a2a.AgentInterface {
	interfaces := []*a2a.AgentInterface{
		a2a.NewAgentInterface(base+"/older/rpc", a2a.TransportProtocolJSONRPC),
		a2a.NewAgentInterface(base+"/older/rest", a2a.TransportProtocolHTTPJSON),
		a2a.NewAgentInterface(rpc, a2a.TransportProtocolGRPC),
	}
	for _, one := range interfaces {
		one.ProtocolVersion = a2av0.Version
	}
	return interfaces
}

func skill(name string) a2a.AgentSkill {
	return a2a.AgentSkill{ID: name, Name: name, Description: "The word " + name + ".", Tags: []string{"interop"}}
}
