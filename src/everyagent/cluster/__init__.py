"""Several daemons on one database: leases, take-over of sessions, and forwarded requests."""
