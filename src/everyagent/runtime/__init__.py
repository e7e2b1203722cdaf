"""Child processes: starting them, reading their output, killing them, restricting their network."""
