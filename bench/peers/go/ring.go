// Computations on a ring, in stages with messages between them.
//
//	ring MODE PATTERN PARALLEL STAGES UNITS TERMS
//
// MODE spawned: each message is a new goroutine, or each second one where a stage needs two; it runs one stage and sends
// the next messages. MODE rendezvous: each computation is a goroutine that waits for its neighbours' messages, which
// come through channels of one place. Prints the time as JSON; GOMAXPROCS sets the threads.
package main

import (
	"fmt"
	"math"
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
	by           []int // where the messages of a stage go, from the sender on
	stages       int64
	unfinished   atomic.Int64
	end          chan struct{}
}

var units, terms int
var sink [64]float64

// compute is the unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in one chain.
func compute(at int) {
	x := 1.0 + sink[at&63]*0
	for unit := 0; unit < units; unit++ {
		for term := 0; term < terms; term++ {
			x = 1.0 / (1.0 + x)
		}
	}
	if x < 0 {
		sink[at&63] = x
	}
}

// message comes to computation at; when a stage has what it needs a goroutine runs it.
func (r *ring) message(at int) {
	if len(r.by) == 1 || r.second(at) {
		go r.stage(at)
	}
}

// second leaves a message, or takes the one that waits.
func (r *ring) second(at int) bool {
	c := &r.computations[at]
	c.lock.Lock()
	defer c.lock.Unlock()
	c.waiting = append(c.waiting, struct{}{})
	enough := len(c.waiting) == len(r.by)
	if enough {
		c.waiting = c.waiting[:0]
	}
	return enough
}

func (r *ring) stage(at int) {
	stage := r.computations[at].begun.Add(1)
	compute(at)
	if stage < r.stages {
		for _, by := range r.by {
			r.message((at + by + len(r.computations)) % len(r.computations))
		}
	} else if stage == r.stages && r.unfinished.Add(-1) == 0 {
		r.end <- struct{}{}
	}
}

func spawned(pattern string, parallel int, stages int64) time.Duration {
	targets := map[string][]int{"pipeline": {0}, "shift": {1}, "two-shifts": {1, 1}, "exchange": {-1, 1}}
	by, known := targets[pattern]
	if !known {
		refuse("no spawned pattern " + pattern)
	}
	r := &ring{
		computations: make([]computation, parallel),
		by:           by,
		stages:       stages,
		end:          make(chan struct{}),
	}
	r.unfinished.Store(int64(parallel))
	started := time.Now()
	for at := 0; at < parallel; at++ {
		for range r.by {
			r.message(at)
		}
	}
	<-r.end
	return time.Since(started)
}

// rank computes the stages of one computation and returns its last value.
func rank(pattern string, at int, stages int64, fromLeft, fromRight []chan float64) float64 {
	parallel := len(fromLeft)
	left, right := (at+parallel-1)%parallel, (at+1)%parallel
	value := float64(at)
	for stage := int64(0); stage < stages; stage++ {
		compute(at)
		switch pattern {
		case "pipeline":
			fromLeft[at] <- value
			value = <-fromLeft[at]
		case "shift":
			fromLeft[right] <- value
			value = <-fromLeft[at]
		case "exchange":
			fromLeft[right] <- value
			fromRight[left] <- value
			value = (<-fromLeft[at] + <-fromRight[at]) / 2
		case "exchange-two-shifts":
			fromRight[left] <- value
			sum := <-fromRight[at]
			fromLeft[right] <- value
			value = (sum + <-fromLeft[at]) / 2
		default:
			refuse("no rendezvous pattern " + pattern)
		}
	}
	return value
}

func rendezvous(pattern string, parallel int, stages int64) time.Duration {
	fromLeft, fromRight := make([]chan float64, parallel), make([]chan float64, parallel)
	for at := range fromLeft {
		fromLeft[at], fromRight[at] = make(chan float64, 1), make(chan float64, 1)
	}
	last := make(chan float64, parallel)
	started := time.Now()
	for at := 0; at < parallel; at++ {
		go func(at int) { last <- rank(pattern, at, stages, fromLeft, fromRight) }(at)
	}
	sum, expected := 0.0, float64(parallel*(parallel-1))/2
	for at := 0; at < parallel; at++ {
		sum += <-last
	}
	took := time.Since(started)
	// The values only move and mix: their sum stays.
	if math.Abs(sum-expected) > 1e-6*(expected+1) {
		refuse(fmt.Sprint(sum, ", not ", expected))
	}
	return took
}

func refuse(what string) {
	fmt.Fprintln(os.Stderr, "ring MODE PATTERN PARALLEL STAGES UNITS TERMS:", what)
	os.Exit(2)
}

func number(text string, least int) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < least {
		refuse(text)
	}
	return value
}

func main() {
	if len(os.Args) != 7 {
		refuse("six arguments belong here")
	}
	mode, pattern, parallel, stages := os.Args[1], os.Args[2], number(os.Args[3], 1), number(os.Args[4], 1)
	units, terms = number(os.Args[5], 0), number(os.Args[6], 0)
	var took time.Duration
	switch mode {
	case "spawned":
		took = spawned(pattern, parallel, int64(stages))
	case "rendezvous":
		took = rendezvous(pattern, parallel, int64(stages))
	default:
		refuse("no mode " + mode)
	}
	fmt.Printf("{\"ns\": %d}\n", took.Nanoseconds())
}
