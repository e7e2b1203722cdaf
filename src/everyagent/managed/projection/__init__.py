"""Universal events and clients' requests into the events of the Managed Agents API. Pure."""
