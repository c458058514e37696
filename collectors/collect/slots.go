package collect

import "ncp-testbed/internal/netstat"

// maxSlots bounds how many sockets of one flow are distinguished, and so the number of series.
const maxSlots = 8

// slots numbers the sockets that a flow has at a time from 1; a number is free again when its socket is gone.
type slots [maxSlots]uint64 // cookies, 0: free

// keep frees the numbers of sockets that are gone.
func (s *slots) keep(sockets []*netstat.Socket) {
	for i, cookie := range s {
		if cookie != 0 && !holds(sockets, cookie) {
			s[i] = 0
		}
	}
}

// number finds the socket's own place, or takes a free one; 0 where there is none.
func (s *slots) number(cookie uint64) int {
	free := 0
	for i, taken := range s {
		switch {
		case taken == cookie:
			return i + 1
		case taken == 0 && free == 0:
			free = i + 1
		}
	}
	if free > 0 {
		s[free-1] = cookie
	}
	return free
}

func holds(sockets []*netstat.Socket, cookie uint64) bool {
	for _, s := range sockets {
		if s.Cookie == cookie {
			return true
		}
	}
	return false
}
