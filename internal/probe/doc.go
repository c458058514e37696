// Package probe measures every link of a run in both directions, from the hosts' own namespaces.
//
// One process holds the sockets of both ends, so one clock tells when a packet left and when it arrived. All
// directions of all links are measured at once, step by step: delay, then rate, then loss.
package probe
