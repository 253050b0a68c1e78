// Computations on a ring: each message is a new goroutine, which runs one stage and sends the
// next messages. ring PATTERN PARALLEL STAGES prints the time as JSON; GOMAXPROCS sets the threads.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

type computation struct {
	begun   atomic.Int64
	lock    sync.Mutex
	waiting []struct{} // messages that wait for the second one
	_       [88]byte   // one cache line pair each
}

type ring struct {
	computations []computation
	messages     int
	by           int
	stages       int64
	unfinished   atomic.Int64
	end          chan struct{}
}

// message comes to computation at; when a stage has what it needs a goroutine runs it.
func (r *ring) message(at int) {
	if r.messages == 1 || r.second(at) {
		go r.stage(at)
	}
}

// second leaves a message, or takes the one that waits.
func (r *ring) second(at int) bool {
	c := &r.computations[at]
	c.lock.Lock()
	defer c.lock.Unlock()
	c.waiting = append(c.waiting, struct{}{})
	enough := len(c.waiting) == r.messages
	if enough {
		c.waiting = c.waiting[:0]
	}
	return enough
}

func (r *ring) stage(at int) {
	stage := r.computations[at].begun.Add(1)
	if stage < r.stages {
		next := at + r.by
		if next == len(r.computations) {
			next = 0
		}
		for i := 0; i < r.messages; i++ {
			r.message(next)
		}
	} else if stage == r.stages && r.unfinished.Add(-1) == 0 {
		r.end <- struct{}{}
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fmt.Fprintln(os.Stderr, "ring PATTERN PARALLEL STAGES:", text)
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "ring PATTERN PARALLEL STAGES")
		os.Exit(2)
	}
	pattern, parallel, stages := os.Args[1], number(os.Args[2]), number(os.Args[3])
	r := &ring{
		computations: make([]computation, parallel),
		messages:     1,
		by:           1,
		stages:       int64(stages),
		end:          make(chan struct{}),
	}
	if pattern == "pipeline" {
		r.by = 0
	}
	if pattern == "two-shifts" {
		r.messages = 2
	}
	r.unfinished.Store(int64(parallel))
	started := time.Now()
	for at := 0; at < parallel; at++ {
		for i := 0; i < r.messages; i++ {
			r.message(at)
		}
	}
	<-r.end
	fmt.Printf("{\"ns\": %d}\n", time.Since(started).Nanoseconds())
}
