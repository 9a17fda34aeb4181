// Package check runs the checks of a driver and reports their results.
//
// A check fails by panicking, as in testing's FailNow: its helpers return no errors.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Timeout of each check.
const timeout = 20 * time.Second

// Arguments are the command line of a client.
type Arguments struct {
	Card    string
	Binding string
	// Compat selects the compatibility of an SDK with an older revision.
	Compat bool
	Only   []string
}

// ParseArguments reads --card URL --binding NAME [--compat] [--only OPERATION]...
func ParseArguments() Arguments {
	var arguments Arguments
	flag.StringVar(&arguments.Card, "card", "", "base `URL` of the agent")
	flag.StringVar(&arguments.Binding, "binding", "", "binding to call it over: JSONRPC, HTTP+JSON or GRPC")
	flag.BoolVar(&arguments.Compat, "compat", false, "call it in an older revision, if the SDK can")
	flag.Func("only", "run only this `operation`; repeatable", func(operation string) error {
		arguments.Only = append(arguments.Only, operation)
		return nil
	})
	flag.Parse()
	return arguments
}

// Operation is one row of the matrix.
type Operation struct {
	Name string
	Run  func(ctx context.Context)
}

// Run runs all operations, or only the named ones, and prints one line of JSON for each.
func Run(operations []Operation, only []string) {
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for _, operation := range operations {
		if len(only) > 0 && !slices.Contains(only, operation.Name) {
			continue
		}
		line := struct {
			Operation string `json:"operation"`
			OK        bool   `json:"ok"`
			Detail    string `json:"detail"`
		}{Operation: operation.Name, OK: true}
		if err := attempt(operation); err != nil {
			line.OK, line.Detail = false, err.Error()
		}
		if err := output.Encode(line); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// failure is the value that a failed check panics with.
type failure struct{ error }

// attempt runs one operation in a goroutine, because not every call ends with its context.
func attempt(operation Operation) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			switch reason := recover().(type) {
			case nil:
				done <- nil
			case failure:
				done <- reason.error
			default:
				fmt.Fprintf(os.Stderr, "%s: %v\n%s", operation.Name, reason, debug.Stack())
				done <- fmt.Errorf("panic: %v", reason)
			}
		}()
		operation.Run(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no end after %v", timeout)
	}
}

// Failf fails the check.
func Failf(format string, arguments ...any) {
	panic(failure{fmt.Errorf(format, arguments...)})
}

// That fails the check unless the condition holds.
func That(condition bool, format string, arguments ...any) {
	if !condition {
		Failf(format, arguments...)
	}
}

// OK fails the check if a call has failed.
func OK(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns the result of a call, and fails the check if the call has failed.
func Must[T any](result T, err error) T {
	OK(err)
	return result
}

// Is asserts the dynamic type of a value.
func Is[T any](value any) T {
	typed, ok := value.(T)
	That(ok, "expected %T, got %T: %s", typed, value, show(value))
	return typed
}

// Same fails the check unless both values are deeply equal.
func Same[T any](actual, expected T, what string) {
	That(reflect.DeepEqual(actual, expected),
		"%s: expected %s, got %s", what, show(expected), show(actual))
}

// FailsWith fails the check unless a call failed with the expected error.
func FailsWith(err, expected error) {
	That(err != nil, "expected the error %q, got an answer", expected)
	That(errors.Is(err, expected), "expected the error %q, got %v (%v)", expected, errors.Unwrap(err), err)
}

// Poll calls ready repeatedly until it returns true.
func Poll(ctx context.Context, ready func() bool) {
	for !ready() {
		select {
		case <-ctx.Done():
			OK(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// show formats a value for an error message, as short JSON.
func show(value any) string {
	const most = 500
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%+v", value)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}
