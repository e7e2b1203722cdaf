"""One adapter for every agent that speaks the Agent Client Protocol (ACP) over stdio. `profiles/` holds the agents."""
