"""Tests of several daemons on one PostgreSQL database."""
