package trace

// Facts are what the packets of a session show at one of its ends.
type Facts struct {
	Sender      Handshake    `json:"sender"`
	Receiver    Handshake    `json:"receiver"`
	Connections []Connection `json:"connections"`

	WindowBytes uint32 `json:"window_bytes"` // as agreed; 0: there was no handshake both ways
	MTUBytes    uint32 `json:"mtu_bytes"`    // as agreed

	Sequences      int     `json:"sequences"`      // different ones
	ResentPackets  int     `json:"resent_packets"` // data packets with a sequence that was there before
	PayloadBytes   uint64  `json:"payload_bytes"`  // from the first sequence to the first that is missing
	PayloadSHA256  string  `json:"payload_sha256"` // of these
	Unacknowledged int     `json:"unacknowledged"` // sequences, neither acknowledged nor reported as read
	BytesRead      uint64  `json:"bytes_read"`     // the most that was reported
	LastedMS       float64 `json:"lasted_ms"`      // from the first data packet to the last first acknowledgement
	MaxInFlight    int     `json:"max_in_flight_packets"`
	MaxOutstanding uint64  `json:"max_outstanding_bytes"` // sent and not reported as read

	// Violations are what the protocol does not allow, each once.
	Violations []string `json:"violations"`
}

// Handshake is what an end offered.
type Handshake struct {
	Packets     int      `json:"packets"`
	ClientIDs   []string `json:"client_ids"`
	WindowBytes uint32   `json:"window_bytes"`
	MTUBytes    uint32   `json:"mtu_bytes"`
}

// Connection is what crossed one of the session's connections.
type Connection struct {
	Link         string    `json:"link"`
	Opened       int       `json:"opened"` // TCP connections that were made
	FromSender   Direction `json:"from_sender"`
	FromReceiver Direction `json:"from_receiver"`
}

// Direction is one direction of a connection.
type Direction struct {
	Packets        int    `json:"packets"` // of NCP, of any kind
	Handshakes     int    `json:"handshakes"`
	DataPackets    int    `json:"data_packets"`
	ResentPackets  int    `json:"resent_packets"` // of the data packets, those whose sequence was there before
	AckPackets     int    `json:"ack_packets"`
	AckedSequences int    `json:"acked_sequences"` // counted each time
	Closes         int    `json:"closes"`
	TCPSegments    int    `json:"tcp_segments"` // with data
	TCPBytes       uint64 `json:"tcp_bytes"`
	TCPResentBytes uint64 `json:"tcp_resent_bytes"` // of those, what had been there before
}
