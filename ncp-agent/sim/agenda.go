package sim

import "time"

// agenda knows of each of n things, numbered from 0, when it wants to be looked
// at next: a heap of their numbers, so that what changes costs the logarithm of
// how many there are. Things of one time come in the order of their numbers.
type agenda struct {
	at    []time.Duration // by number
	heap  []int           // numbers
	place []int           // by number: where it is in the heap
}

// newAgenda makes one of n things that all wait for the same time.
func newAgenda(n int, at time.Duration) *agenda {
	a := &agenda{at: make([]time.Duration, n), heap: make([]int, n), place: make([]int, n)}
	for i := range n {
		a.at[i], a.heap[i], a.place[i] = at, i, i
	}
	return a
}

// first returns the earliest time; none without things.
func (a *agenda) first(none time.Duration) time.Duration {
	if len(a.heap) == 0 {
		return none
	}
	return a.at[a.heap[0]]
}

// set changes the time of a thing.
func (a *agenda) set(i int, at time.Duration) {
	was := a.at[i]
	a.at[i] = at
	switch {
	case at < was:
		a.up(a.place[i])
	case at > was:
		a.down(a.place[i])
	}
}

// due adds every thing whose time has come to a list.
func (a *agenda) due(now time.Duration, into *list) { a.dueBelow(0, now, into) }

func (a *agenda) dueBelow(place int, now time.Duration, into *list) {
	if place >= len(a.heap) || a.at[a.heap[place]] > now {
		return
	}
	into.add(a.heap[place])
	a.dueBelow(2*place+1, now, into)
	a.dueBelow(2*place+2, now, into)
}

func (a *agenda) before(i, j int) bool {
	return a.at[i] < a.at[j] || a.at[i] == a.at[j] && i < j
}

func (a *agenda) up(place int) {
	i := a.heap[place]
	for place > 0 {
		parent := (place - 1) / 2
		if !a.before(i, a.heap[parent]) {
			break
		}
		a.put(a.heap[parent], place)
		place = parent
	}
	a.put(i, place)
}

func (a *agenda) down(place int) {
	i := a.heap[place]
	for {
		child := 2*place + 1
		if child+1 < len(a.heap) && a.before(a.heap[child+1], a.heap[child]) {
			child++
		}
		if child >= len(a.heap) || !a.before(a.heap[child], i) {
			break
		}
		a.put(a.heap[child], place)
		place = child
	}
	a.put(i, place)
}

func (a *agenda) put(i, place int) { a.heap[place], a.place[i] = i, place }

// list is a set of numbers below n that is gone through in their order.
type list struct {
	has     []bool
	numbers []int // a heap, the smallest first
}

func newList(n int) *list { return &list{has: make([]bool, n)} }

// add puts a number in, once.
func (l *list) add(i int) {
	if l.has[i] {
		return
	}
	l.has[i] = true
	l.numbers = append(l.numbers, i)
	h := l.numbers
	place := len(h) - 1
	for place > 0 && i < h[(place-1)/2] {
		h[place] = h[(place-1)/2]
		place = (place - 1) / 2
	}
	h[place] = i
}

// take removes the smallest number.
func (l *list) take() (int, bool) {
	h := l.numbers
	if len(h) == 0 {
		return 0, false
	}
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	l.numbers = h
	l.has[first] = false
	for place := 0; len(h) > 0; {
		child := 2*place + 1
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if child >= len(h) || last < h[child] {
			h[place] = last
			break
		}
		h[place] = h[child]
		place = child
	}
	return first, true
}
