"""The stored resources of the Managed Agents API, one folder a kind."""
