package plan

import "net/netip"

// NDN is the nodes of an NDN network and what they fetch.
type NDN struct {
	Prefix       string  `json:"prefix"`
	ObjectBytes  int64   `json:"object_bytes"`
	SegmentBytes int     `json:"segment_bytes"`
	FreshnessMS  float64 `json:"freshness_ms"` // 0: the agent's default
	Nodes        []Node  `json:"nodes"`
}

// Node is the node on a host. A zero value has the agent's default, where it says nothing else.
type Node struct {
	Host                string    `json:"host"`
	Role                string    `json:"role"` // consumer, forwarder or producer
	Faces               []Face    `json:"faces"`
	Routes              []Route   `json:"routes"`
	ContentStorePackets int       `json:"content_store_packets"`
	Marking             *Marking  `json:"marking"`
	Consumer            *Consumer `json:"consumer"`
}

// Face is one face of a node.
type Face struct {
	Name            string         `json:"name"`
	Transport       string         `json:"transport"`
	Local           netip.AddrPort `json:"local"`
	Remote          netip.AddrPort `json:"remote"`
	Listen          bool           `json:"listen"`
	MTUBytes        int            `json:"mtu_bytes"`
	SendBufferBytes int            `json:"send_buffer_bytes"` // 0: the kernel's default
	SendQueueBytes  int            `json:"send_queue_bytes"`  // TCP
}

// Route sends what is under a prefix to the face of a name.
type Route struct {
	Prefix string `json:"prefix"`
	Face   string `json:"face"`
}

// Marking is when a node marks congestion.
type Marking struct {
	Mode            string  `json:"mode"`
	ThresholdBytes  int     `json:"threshold_bytes"`
	TCPQueuePackets int     `json:"tcp_queue_packets"`
	IntervalMS      float64 `json:"interval_ms"`
}

// Consumer is how a consumer fetches.
type Consumer struct {
	Algorithm          string  `json:"algorithm"`
	IgnoreMarks        bool    `json:"ignore_marks"`
	RTOMinMS           float64 `json:"rto_min_ms"`
	InitialCwnd        float64 `json:"initial_cwnd"`
	AIMDStep           float64 `json:"aimd_step"`
	AIMDBeta           float64 `json:"aimd_beta"`
	MaxRetries         int     `json:"max_retries"`
	InterestLifetimeMS float64 `json:"interest_lifetime_ms"`
}
