"""A session's past: info, event streams, exports, transcripts, forks."""
