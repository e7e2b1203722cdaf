"""`everyagent serve`: runs the daemon until it is stopped."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_start import start
from everyagent.config import LogFormat, LogLevel
from everyagent.model.isolation import Isolation, IsolationChoice
from everyagent.model.retention import RetainedStatus


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    data_dir: Path | None = None,
    token: str | None = None,
    no_token: Annotated[bool | None, Parameter(negative=())] = None,
    default_agent: str | None = None,
    idle_timeout: float | None = None,
    turn_timeout: float | None = None,
    max_connections: int | None = None,
    max_requests: int | None = None,
    max_sessions: int | None = None,
    max_agents: int | None = None,
    max_queued_messages: int | None = None,
    mcp_depth: int | None = None,
    mcp_starts_per_hour: int | None = None,
    mcp_budget: float | None = None,
    runner_lease: float | None = None,
    prices: Path | None = None,
    isolation: IsolationChoice | None = None,
    min_isolation: Isolation | None = None,
    container_image: str | None = None,
    container_engine: str | None = None,
    session_memory: str | None = None,
    session_processes: int | None = None,
    session_cpu: float | None = None,
    session_open_files: int | None = None,
    session_disk: str | None = None,
    session_checkpoints: str | None = None,
    key_directory: Path | None = None,
    allowed_host: str | None = None,
    allowed_origin: Annotated[str | None, Parameter(name=["--allowed-origin", "--cors-allow-origin"])] = None,
    store: str | None = None,
    blobs: str | None = None,
    cluster: Annotated[bool | None, Parameter(negative=())] = None,
    node_url: str | None = None,
    bus: str | None = None,
    webhook_networks: str | None = None,
    webhook_pause_after: float | None = None,
    public_url: str | None = None,
    trusted_proxy: str | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    vault_key_file: Path | None = None,
    vault_key_command: str | None = None,
    retain_days: float | None = None,
    retain_events: int | None = None,
    retain_status: RetainedStatus | None = None,
    log_format: LogFormat | None = None,
    log_level: LogLevel | None = None,
    access_log: Annotated[bool | None, Parameter(negative=())] = None,
    otel_endpoint: str | None = None,
    otel_content: Annotated[bool | None, Parameter(negative=())] = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Start the daemon.

    Parameters
    ----------
    host
        The address to listen on. [default: 127.0.0.1]
    port
        The port to listen on; 0 chooses a free one. [default: 2468]
    data_dir
        The folder for the event log, the token and installed agents.
    token
        The access token of clients. [default: the one in the data folder, created at the first start]
    no_token
        Accept requests without a token. Refused unless the host is a loopback address.
    default_agent
        The agent of sessions that name none. [default: claude]
    idle_timeout
        Seconds after which the agent process of an idle session is stopped; the next message resumes it.
        [default: 600]
    turn_timeout
        Seconds for which an agent may send nothing in a turn, before the turn is ended with an error; 0 is no limit.
        The log has a warning at three quarters of it. Time in which a person is asked does not count. Sessions may
        have another one. [default: 0]
    max_connections
        The most connections of clients at a time; further ones get a 503. Three quarters of the file descriptors that
        the process may open are the limit in any case. [default: 20000]
    max_requests
        The most requests that are handled at a time; further ones get a 503. 0 is no limit. [default: 5000]
    max_sessions
        The most sessions that have not ended; further ones get a 409. 0 is no limit. [default: 0]
    max_agents
        The most sessions whose agent runs at a time. The agent that is idle for longest is stopped for another one; if
        all are busy, messages get a 503. 0 is no limit. [default: 0]
    max_queued_messages
        The most messages that wait in one session; further ones get a 429. 0 is no limit. [default: 1000]
    mcp_depth
        How deep agents may start agents over MCP: 0 lets no session start another one. [default: 3]
    mcp_starts_per_hour
        The most sessions of a workspace that are started over MCP in an hour. 0 is no limit. [default: 120]
    mcp_budget
        The most that a session started over MCP may spend, in US dollars. 0 is no limit. [default: 10]
    runner_lease
        Seconds for which a runner may be disconnected before its sessions' turns are ended with an error.
        [default: 300]
    prices
        A JSON file with the prices of models, for costs and budgets. [default: prices.json in the data folder]
    isolation
        What separates the agents of sessions that do not name it: auto, none, namespace or container. auto is namespace
        where the system permits it, else none. [default: auto]
    min_isolation
        The weakest isolation that a session may have: none, namespace or container. [default: none]
    container_image
        The image in which agents run at the isolation container. Podman must have it already: nothing is fetched.
    container_engine
        The command that starts containers, such as "podman --runtime runc". [default: podman]
    session_memory
        The memory that a session's agent may use with everything that it starts, such as 4G; 0 is no limit.
        [default: three quarters of the machine's memory]
    session_processes
        The processes and threads that a session's agent may have; 0 is no limit. [default: 1024, or 64 for each core]
    session_cpu
        The number of cores that a session's agent may use. [default: no limit]
    session_open_files
        The files that each process of an agent may have open. [default: that of the daemon]
    session_disk
        The disk space that a session's directory and scratch folder may take, such as 20G. [default: no limit]
    session_checkpoints
        The disk space that a session's checkpoints may take; 0 is no limit. [default: 5G]
    key_directory
        The folder in which sessions of API keys work, or below it. [default: the working directory]
    allowed_host
        A name by which clients reach the daemon through a proxy or a tunnel, such as agents.example.org, with commas
        between several. [default: loopback names and the addresses it listens on]
    allowed_origin
        The origin of web pages that may use the API, such as https://app.example.org, with commas between several. They
        need the token, too. [default: only the daemon's own]
    store
        A PostgreSQL database for the event log: postgresql://user@host/database. [default: SQLite in the data folder]
    blobs
        Where large bodies and uploaded files are: s3://bucket/prefix, or the path of a folder that all nodes mount.
        [default: the database of the store]
    cluster
        Share the store with other daemons, which own its sessions together. All of them need the same token and the
        same key of the vault.
    node_url
        The address at which other nodes of the cluster reach this one. [default: the one it listens on]
    bus
        NATS servers that carry new events between the nodes of a cluster: nats://host:4222, with commas between
        several. [default: NOTIFY of the store]
    webhook_networks
        Networks that webhooks may be sent to although they are not public, such as 10.0.0.0/8 or 127.0.0.1, with
        commas between several. [default: none]
    webhook_pause_after
        Seconds after which a webhook whose every attempt has failed is paused. [default: 86400]
    public_url
        The address at which people reach the daemon, such as https://example.org/agents. Links in webhooks lead there,
        and requests may have its path as a prefix. [default: the one it listens on]
    trusted_proxy
        Addresses or networks of reverse proxies whose X-Forwarded-For, -Proto and -Host headers count, such as
        127.0.0.1 or 10.0.0.0/8, with commas between several. [default: none]
    tls_cert
        A PEM file with a certificate and its chain, to serve HTTPS. It is read again when it changes.
        [default: plain HTTP]
    tls_key
        The PEM file with the certificate's private key. [default: the file of --tls-cert]
    vault_key_file
        A file with the key that encrypts stored secrets, such as a mounted secret: 32 bytes, or their hex or base64
        form. [default: vault.key in the data folder, made at the first start]
    vault_key_command
        A command that prints this key, such as one of age or of a key service.
    retain_days
        Delete sessions this many days after their last event, with all their data; 0 keeps them. `everyagent sessions
        prune --dry-run` shows which. [default: 0]
    retain_events
        Delete the oldest sessions while the log has more events than this; 0 is no limit. [default: 0]
    retain_status
        The sessions that may be deleted so: ended, or idle for those that wait for a message, too. None in which
        something happens is deleted. [default: ended]
    log_format
        console or json; auto is console on a terminal. [default: auto]
    log_level
        The least important lines of the log: info, warning or error. [default: info]
    access_log
        Write a line of level info for each response, without tokens and queries.
    otel_endpoint
        The address of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318: each turn is
        sent to it as a trace. Headers are those of OTEL_EXPORTER_OTLP_HEADERS. [default: nothing is sent]
    otel_content
        Send what was said, and what tools were given and returned, too.
    json
        Print the address and the token as one JSON document.
    """
    return start(
        {
            "host": host,
            "port": port,
            "data-dir": data_dir,
            "token": token,
            "no-token": no_token,
            "default-agent": default_agent,
            "idle-timeout": idle_timeout,
            "turn-timeout": turn_timeout,
            "max-connections": max_connections,
            "max-requests": max_requests,
            "max-sessions": max_sessions,
            "max-agents": max_agents,
            "max-queued-messages": max_queued_messages,
            "mcp-depth": mcp_depth,
            "mcp-starts-per-hour": mcp_starts_per_hour,
            "mcp-budget": mcp_budget,
            "runner-lease": runner_lease,
            "prices": prices,
            "isolation": isolation,
            "min-isolation": min_isolation,
            "container-image": container_image,
            "container-engine": container_engine,
            "session-memory": session_memory,
            "session-processes": session_processes,
            "session-cpu": session_cpu,
            "session-open-files": session_open_files,
            "session-disk": session_disk,
            "session-checkpoints": session_checkpoints,
            "key-directory": key_directory,
            "allowed-host": allowed_host,
            "allowed-origin": allowed_origin,
            "store": store,
            "blobs": blobs,
            "cluster": cluster,
            "node-url": node_url,
            "bus": bus,
            "webhook-networks": webhook_networks,
            "webhook-pause-after": webhook_pause_after,
            "public-url": public_url,
            "trusted-proxy": trusted_proxy,
            "tls-cert": tls_cert,
            "tls-key": tls_key,
            "vault-key-file": vault_key_file,
            "vault-key-command": vault_key_command,
            "retain-days": retain_days,
            "retain-events": retain_events,
            "retain-status": retain_status,
            "log-format": log_format,
            "log-level": log_level,
            "access-log": access_log,
            "otel-endpoint": otel_endpoint,
            "otel-content": otel_content,
            "json": json,
        }
    )
