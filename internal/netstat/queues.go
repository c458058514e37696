package netstat

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"ncp-testbed/internal/linkmodel"
)

// Queue is a queueing discipline or a class of one: what has left it, what it holds, how it is configured.
type Queue struct {
	Interface         int // index
	Kind, Handle      string
	Root              bool
	Bytes, Packets    uint64 // cumulative, what has left it
	Drops, Overlimits uint64
	Requeues          uint64
	BacklogBytes      uint64
	BacklogPackets    uint64
	RateBPS           float64 // NaN: it has none
	Netem             *Netem
}

// Netem is how the kernel's netem is configured.
type Netem struct {
	DelayMS, Loss float64 // the mean, with bursty loss
}

// Attributes of traffic control and their parts, see linux/pkt_sched.h and linux/gen_stats.h.
const (
	statsBasic, statsQueue, statsPackets64 = 1, 3, 8
	htbParameters, htbRate64               = 1, 6
	tbfParameters, tbfRate64               = 1, 4
	netemLoss, netemDelay64                = 5, 10
	netemGilbertElliott                    = 2
	sizeofNetemOptions                     = 24
	sizeofTcMessage                        = 20
	root                                   = 0xffffffff
)

// classful are the disciplines whose classes count for themselves.
var classful = map[string]bool{"htb": true, "hfsc": true, "drr": true, "qfq": true}

// Queues returns all queueing disciplines and the classes of those whose classes count for themselves.
func (n *Namespace) Queues() ([]Queue, error) {
	found, err := n.queues(unix.RTM_GETQDISC, 0)
	if err != nil {
		return nil, err
	}
	for _, q := range found { // as they were before the classes
		if classful[q.Kind] {
			classes, err := n.queues(unix.RTM_GETTCLASS, q.Interface)
			if err != nil {
				return nil, err
			}
			found = append(found, classes...)
		}
	}
	return found, nil
}

func (n *Namespace) queues(kind uint16, index int) ([]Queue, error) {
	var found []Queue
	question := make([]byte, sizeofTcMessage)
	binary.NativeEndian.PutUint32(question[4:], uint32(index)) // 0: of all interfaces
	err := n.dump(kind, question, func(body []byte) error {
		q, err := decodeQueue(body)
		if err == nil {
			found = append(found, q)
		}
		return err
	})
	return found, err
}

// decodeQueue reads a tcmsg.
func decodeQueue(body []byte) (Queue, error) {
	a, err := attributes(body, sizeofTcMessage)
	if err != nil {
		return Queue{}, err
	}
	handle := u32(body, 8)
	q := Queue{
		Interface: int(int32(u32(body, 4))), Kind: text(a[unix.TCA_KIND]), Handle: handleText(handle),
		// The parent of a class can be the root, too: that of the discipline itself.
		Root: u32(body, 12) == root && handle&0xffff == 0, RateBPS: math.NaN(),
	}
	if err := q.readStats(a[unix.TCA_STATS2]); err != nil {
		return q, err
	}
	return q, q.readOptions(a[unix.TCA_OPTIONS])
}

// handleText writes a handle as tc does: a discipline's ends with the colon.
func handleText(handle uint32) string {
	if handle&0xffff == 0 {
		return fmt.Sprintf("%x:", handle>>16)
	}
	return fmt.Sprintf("%x:%x", handle>>16, handle&0xffff)
}

func (q *Queue) readStats(value []byte) error {
	a, err := attributes(value, 0)
	if err != nil {
		return err
	}
	q.Bytes, q.Packets = u64(a[statsBasic], 0), uint64(u32(a[statsBasic], 8))
	if wide, ok := a[statsPackets64]; ok { // what does not fit into 32 bits
		q.Packets = u64(wide, 0)
	}
	held := a[statsQueue]
	q.BacklogPackets, q.BacklogBytes = uint64(u32(held, 0)), uint64(u32(held, 4))
	q.Drops, q.Requeues, q.Overlimits = uint64(u32(held, 8)), uint64(u32(held, 12)), uint64(u32(held, 16))
	return nil
}

func (q *Queue) readOptions(value []byte) error {
	switch q.Kind {
	case "htb":
		return q.readRate(value, htbParameters, htbRate64)
	case "tbf":
		return q.readRate(value, tbfParameters, tbfRate64)
	case "netem":
		return q.readNetem(value)
	}
	return nil
}

// readRate reads a rate in bytes per second: a struct tc_ratespec begins the parameters, its rate at 8; 64 bits
// stand beside it where 32 are not enough.
func (q *Queue) readRate(value []byte, parameters, wide uint16) error {
	a, err := attributes(value, 0)
	if err != nil {
		return err
	}
	rate := uint64(u32(a[parameters], 8))
	if v, ok := a[wide]; ok {
		rate = u64(v, 0)
	}
	if rate > 0 { // HTB's discipline itself has none, its classes have
		q.RateBPS = 8 * float64(rate)
	}
	return nil
}

// readNetem reads a struct tc_netem_qopt (loss at 8, of 2^32 - 1) and the attributes after it.
func (q *Queue) readNetem(value []byte) error {
	a, err := attributes(value, sizeofNetemOptions)
	if err != nil {
		return err
	}
	q.Netem = &Netem{
		DelayMS: float64(int64(u64(a[netemDelay64], 0))) / 1e6, // ns
		Loss:    probability(u32(value, 8)),
	}
	if len(a[netemLoss]) == 0 {
		return nil
	}
	models, err := attributes(a[netemLoss], 0)
	if err != nil {
		return err
	}
	if bursty := models[netemGilbertElliott]; bursty != nil {
		// struct tc_netem_gemodel: p, r, h (1 - loss in the bad state), k1 (loss in the good state)
		model := linkmodel.GilbertElliott{
			Enter: probability(u32(bursty, 0)), Leave: probability(u32(bursty, 4)),
			LossBad: 1 - probability(u32(bursty, 8)), LossGood: probability(u32(bursty, 12)),
		}
		q.Netem.Loss = model.MeanLoss()
	}
	return nil
}

func probability(of uint32) float64 { return float64(of) / math.MaxUint32 }
