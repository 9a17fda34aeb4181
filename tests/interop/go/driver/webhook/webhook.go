// Package webhook receives push notifications for a check.
package webhook

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"

	"a2a.example/interop/driver/check"
)

// Delivery is one received notification.
type Delivery struct {
	Header http.Header
	Body   []byte
}

// Receiver is a webhook on a port of its own.
type Receiver struct {
	URL        string
	server     *httptest.Server
	deliveries chan Delivery
}

// Listen starts a receiver.
func Listen() *Receiver {
	// More than a task has events, so that no sender waits.
	deliveries := make(chan Delivery, 64)
	receive := func(_ http.ResponseWriter, request *http.Request) {
		if body, err := io.ReadAll(request.Body); err == nil {
			deliveries <- Delivery{request.Header, body}
		}
	}
	server := httptest.NewServer(http.HandlerFunc(receive))
	return &Receiver{URL: server.URL + "/hook", server: server, deliveries: deliveries}
}

// Close stops the receiver.
func (r *Receiver) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// Until returns the first delivery that is wanted.
func (r *Receiver) Until(ctx context.Context, wanted func(Delivery) bool) Delivery {
	for {
		select {
		case delivery := <-r.deliveries:
			if wanted(delivery) {
				return delivery
			}
		case <-ctx.Done():
			check.Failf("no delivery of the completed task")
		}
	}
}
