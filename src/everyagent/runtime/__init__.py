"""Child processes: spawn, frame, watch, kill. Called by the drivers of `agents/`."""
