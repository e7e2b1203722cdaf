"""Git for repositories that nobody trusts: worktrees, snapshots of folders, merges, checkpoints."""
