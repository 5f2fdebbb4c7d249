package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/clewops/clew/internal/ledger"
	"github.com/clewops/clew/internal/store/storetest"
)

// BenchmarkGuarded is the frame of a commitment: locks, checks, one entry, COMMIT, head file.
func BenchmarkGuarded(b *testing.B) {
	for _, e := range storetest.Engines(b) {
		b.Run(string(e), func(b *testing.B) {
			s := openAt(b, storetest.New(b, e))
			for b.Loop() {
				if err := guarded(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParallel is the same from many goroutines, each on a machine of its own.
func BenchmarkParallel(b *testing.B) {
	for _, e := range storetest.Engines(b) {
		b.Run(string(e), func(b *testing.B) {
			s := openAt(b, storetest.New(b, e))
			var n atomic.Int64
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				m := fmt.Sprintf("m-%d", n.Add(1))
				for pb.Next() {
					l := locks{machines: []string{m}, identities: shared, installation: shared, guarded: true}
					err := s.update(context.Background(), l, "a test", func(tx *Tx) error {
						_, err := tx.append(machineScope(m), "test.written", ledger.Actor{}, nil, nil)
						return err
					})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkOpen is what every command pays.
func BenchmarkOpen(b *testing.B) {
	for _, e := range storetest.Engines(b) {
		b.Run(string(e), func(b *testing.B) {
			p := storetest.New(b, e)
			openAt(b, p)
			for b.Loop() {
				s, err := Open(context.Background(), Config{Location: p.Location, StateDir: p.StateDir})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
