"""Skills: versioned folders of instructions for agents."""
