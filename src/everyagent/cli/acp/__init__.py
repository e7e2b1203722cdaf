"""everyagent as an agent of the Agent Client Protocol: an editor drives any agent through the daemon."""
