"""An index on another machine: a client of its API, and what of this machine is sent there."""
