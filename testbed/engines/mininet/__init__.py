"""One run on real packets, through this machine's kernel or a guest's, whatever it sends."""
