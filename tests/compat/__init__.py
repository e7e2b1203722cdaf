"""Programs that others wrote, run against the daemon. Their results make docs/compatibility.md."""
