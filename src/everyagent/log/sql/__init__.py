"""SQL that SQLite and PostgreSQL both run: everything of the log that does not depend on the database."""
