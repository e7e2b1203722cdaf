"""Agents that run on runners: the wire form, the keys, the connections and the conversations of the daemon."""
