"""Skills: uploaded version by version."""
