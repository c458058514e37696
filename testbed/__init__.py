"""ncp-testbed: experiments about transport windows on links whose behaviour is measured."""
