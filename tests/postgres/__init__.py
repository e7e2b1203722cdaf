"""A PostgreSQL server and a faulty network for tests."""
