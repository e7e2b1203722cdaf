"""The app-server's protocol: JSON-RPC messages, and which thread each belongs to."""
