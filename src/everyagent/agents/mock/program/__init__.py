"""The mock agent itself: a process of its own, stdlib only, so that it starts in an instant."""
