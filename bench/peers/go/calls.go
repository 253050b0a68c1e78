// Calls of one service: a goroutine with a counter, asked through a channel, that answers through a channel of each call.
//
//	calls group MESSAGES GROUPS
//	calls timings MESSAGES TIMINGS
//	calls clients CLIENTS MESSAGES
//
// group: one caller posts so many, then awaits all answers, so often. timings: as many times a new service, a group that
// is not counted, and a group that is. clients: so many callers at the same time, each of which makes so many calls, one
// after the other. Prints the time as JSON, and each timing; GOMAXPROCS sets the threads.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

type request struct {
	n      uint64
	answer chan uint64
}

func serve(requests chan request) {
	count := uint64(0)
	for request := range requests {
		count += request.n
		request.answer <- count
	}
}

func group(messages, warm, groups int) time.Duration {
	requests := make(chan request, max(messages, 1024))
	go serve(requests)
	answers := make([]chan uint64, messages)
	for at := range answers {
		answers[at] = make(chan uint64, 1)
	}
	started, last := time.Now(), uint64(0)
	for number := range warm + groups {
		if number == warm {
			started = time.Now()
		}
		for _, answer := range answers {
			requests <- request{1, answer}
		}
		for _, answer := range answers {
			last = <-answer
		}
	}
	took := time.Since(started)
	close(requests)
	check(last, messages*(warm+groups))
	return took
}

func timings(messages, count int) (time.Duration, []int64) {
	all, each := time.Duration(0), []int64{}
	for range count {
		took := group(messages, 1, 1)
		all += took
		each = append(each, took.Nanoseconds())
	}
	return all, each
}

func clients(count, messages int) time.Duration {
	requests := make(chan request, 1024)
	go serve(requests)
	var done sync.WaitGroup
	started := time.Now()
	for range count {
		done.Add(1)
		go func() {
			defer done.Done()
			answer := make(chan uint64, 1)
			for range messages {
				requests <- request{1, answer}
				<-answer
			}
		}()
	}
	done.Wait()
	took := time.Since(started)
	answer := make(chan uint64, 1)
	requests <- request{0, answer}
	check(<-answer, count*messages)
	return took
}

func check(found uint64, expected int) {
	if found != uint64(expected) {
		fmt.Fprintln(os.Stderr, found, "were counted, not", expected)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fmt.Fprintln(os.Stderr, "calls group|timings|clients COUNT COUNT:", text)
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "calls group|timings|clients COUNT COUNT: three arguments belong here")
		os.Exit(2)
	}
	one, two := number(os.Args[2]), number(os.Args[3])
	took, each := time.Duration(0), []int64{}
	switch os.Args[1] {
	case "group":
		took = group(one, 0, two)
	case "timings":
		took, each = timings(one, two)
	case "clients":
		took = clients(one, two)
	default:
		number(os.Args[1])
	}
	list, err := json.Marshal(each)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("{\"ns\": %d, \"each\": %s}\n", took.Nanoseconds(), list)
}
