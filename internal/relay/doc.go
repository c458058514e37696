// Package relay is the user-space middle of a run's links: it drives one [linkmodel.Pipe] for each direction
// of each link with real Ethernet frames, taken from and given to the interfaces of the fabric's namespace by
// packet sockets (packet(7)).
//
// The kernel's receive timestamp of a frame is its arrival, so the time until the relay comes to read it is
// part of the delay, not added to it. One thread serves all links and allocates nothing while frames flow.
//
// The hosts' interfaces must have transmit offloads off (ethtool -K IF tx off gso off tso off): a frame handed
// over for segmentation is larger than the MTU and is dropped here, counted as oversize. A checksum that was left to the
// device is completed here, and counted. A link whose plan says so takes TCP's segments whole, and passes them on as they
// are to the other host, unless something on the link counts frames: then they are cut here.
package relay
