package lab_test

import (
	"os"
	"testing"

	"github.com/clewops/clew/internal/lab"
)

// TestMain lets the test binary be the nodes of the labs that the tests make.
func TestMain(m *testing.M) {
	if code, was := lab.Child(os.Args[1:]); was {
		os.Exit(code)
	}

	if order := os.Getenv(helperVariable); order != "" {
		os.Exit(helper(order))
	}

	os.Exit(m.Run())
}
