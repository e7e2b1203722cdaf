"""OpenTelemetry: turns of the log as traces. Off unless `otel_endpoint` is set; needs `everyagent[otel]` to send."""
