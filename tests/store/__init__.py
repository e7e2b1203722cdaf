"""Tests of the daemon on PostgreSQL."""
