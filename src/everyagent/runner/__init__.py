"""The runner: runs the agents of a daemon on another machine and reports what they send."""
