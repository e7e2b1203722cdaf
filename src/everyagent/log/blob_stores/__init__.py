"""Stores for large bodies and uploads beside a PostgreSQL database: a folder, or an S3 bucket."""
