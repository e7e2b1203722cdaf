"""Files: uploads, copies for sessions, outputs of sessions."""
