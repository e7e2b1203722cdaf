"""Assembles the daemon's parts, runs it, and shuts it down in the right order. Called by the CLI."""

import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import anyio.abc
from anyio import to_thread
from msgspec import UNSET, Struct, UnsetType, convert

from everyagent import addresses, systemd
from everyagent.access.keyring import Keyring
from everyagent.agents.adapter import Adapter, AgentState
from everyagent.agents.registry import known_adapters
from everyagent.api.app import create_app
from everyagent.api.connection_limits import ConnectionLimits
from everyagent.api.context import ApiSettings
from everyagent.api.owner_token import OwnerToken
from everyagent.api.proxies import TrustedProxies
from everyagent.api.server import TlsListener, listen, serve
from everyagent.api.start_limits import StartSettings
from everyagent.background import keep_running
from everyagent.clock import Clock, ClusterClock, SystemClock
from everyagent.config import TOKEN_FILE, Settings, agent_limits, ensure_token, is_loopback, read_prices, retention
from everyagent.lazy_managed import LazyManaged
from everyagent.log.log import Charge
from everyagent.log.workspace_log import WorkspaceLog
from everyagent.model.isolation import Containers
from everyagent.own_agents import OwnAgents
from everyagent.private_files import private_folder
from everyagent.runtime.memory_tuning import tune
from everyagent.runtime.reaper import Reaper
from everyagent.sessions import Agents, Sessions
from everyagent.sessions.checkpoints import Checkpoints
from everyagent.sessions.creation import Creation
from everyagent.sessions.launch.isolation import IsolationPolicy
from everyagent.sessions.launch.known_secrets import environment_secrets
from everyagent.sessions.launch.launcher import Launcher
from everyagent.sessions.launch.scratch import ScratchFolders
from everyagent.sessions.limits import Limits
from everyagent.sessions.machine.inputs import budget_batch
from everyagent.sessions.retention import retain
from everyagent.sessions.runner_sessions import RunnerSessions
from everyagent.sessions.services import Services
from everyagent.sessions.supervisor import Supervisor
from everyagent.sessions.worktrees import Worktrees
from everyagent.store import join_cluster, open_log
from everyagent.tls_certificate import TlsCertificate
from everyagent.vault_key import open_vault
from everyagent.webhooks.lazy import LazyWebhooks, WebhookSettings

if TYPE_CHECKING:
    from everyagent.api.forwarding import Forwarder

#: How often the token file is looked at.
_TOKEN_SECONDS = 0.5


class RunningDaemon(Struct, frozen=True, kw_only=True):
    """The address of a daemon that accepts requests. `token` is None if it needs none.

    `public_url` is set if people reach it at another address than programs on this machine.
    """

    url: str
    token: str | None
    public_url: str | UnsetType = UNSET


@asynccontextmanager
async def sessions_of(
    settings: Settings,
    *,
    limits: Limits,
    clock: Clock | None = None,
    url: str | None = None,
    token: str | None = None,
    adapters: Callable[[anyio.abc.TaskGroup], Sequence[Adapter]] | None = None,
    managed: LazyManaged | None = None,
    node_url: str | None = None,
) -> AsyncGenerator[Sessions]:
    """Open the sessions of a data folder and recover them. On exit, all agents are stopped and all data is on disk.

    `url` is the address at which agents on this machine reach the daemon, for custom tools. `token` is what its clients
    send: it is masked in the log. `node_url` is the address at which other nodes reach it: only in a cluster, where
    the database's time replaces that of `clock`.
    """
    machine_clock = clock or SystemClock()
    prices = read_prices(settings)
    private_folder(settings.data_dir)
    vault = open_vault(settings)
    cluster, cluster_clock = None, ClusterClock(machine_clock)
    clock = machine_clock if node_url is None else cluster_clock
    if node_url is not None:
        cluster = await join_cluster(settings, cluster_clock, node_url, vault.derived)
    storage = cluster or await open_log(settings, clock)
    node_name = cluster.membership.name if cluster is not None else None
    log = WorkspaceLog(storage)
    try:
        keys = await Keyring.load(storage, clock)
        async with anyio.create_task_group() as tasks:
            reaper = Reaper()
            known = adapters(tasks) if adapters else known_adapters(tasks, settings.data_dir / "agents", reaper)
            per_agent = agent_limits(settings)
            isolation = IsolationPolicy(
                default=settings.isolation, floor=settings.min_isolation, containers=_containers(settings)
            )
            agents = Agents(
                known,
                folder=settings.data_dir / "agents",
                added=OwnAgents(settings, {each.name for each in known}, tasks, reaper).added,
                isolation=isolation,
            )
            runners = RunnerSessions(log.records, vault, settings.runner_lease, clock, log.session)
            services = Services(
                folder=settings.data_dir,
                records=log.records,
                vault=vault,
                clock=clock,
                default_agent=settings.default_agent,
                prices=prices,
                keys=keys,
                runners=runners,
            )
            scratch = ScratchFolders(settings.data_dir / "scratch")
            await to_thread.run_sync(scratch.set_aside_shared)
            launcher = Launcher(
                log,
                vault,
                scratch,
                url,
                {token.encode(): "daemon_token"} if token else {},
                environment_secrets(os.environ),
                isolation,
                per_agent,
                settings.public_url,
            )
            worktrees = Worktrees(settings.data_dir.resolve(), log, isolation)
            checkpoints = Checkpoints(
                settings.data_dir.resolve(), log, isolation, settings.session_checkpoints, node_name
            )
            managed = managed or LazyManaged()
            supervisor = Supervisor(
                log=log,
                agents=agents,
                launcher=launcher,
                tasks=tasks,
                clock=clock,
                limits=limits,
                prices=prices,
                projections=managed,
                runners=runners,
                checkpoints=checkpoints,
                node=node_name,
            )
            creation = Creation(
                log=log,
                agents=agents,
                launcher=launcher,
                worktrees=worktrees,
                clock=clock,
                default_agent=settings.default_agent,
                directory=Path.cwd(),
                key_directory=settings.key_directory or Path.cwd(),
                isolation=isolation,
                limits=per_agent,
                max_sessions=limits.max_sessions,
                runners=runners,
                prices=prices,
                node=node_name,
            )
            webhooks = services.webhooks = LazyWebhooks(
                log,
                storage.records,
                vault,
                clock,
                tasks,
                WebhookSettings(
                    networks=settings.webhook_networks,
                    pause_after=settings.webhook_pause_after,
                    public_url=settings.public_url or url or "",
                    link_key=vault.derived(b"answer links"),
                ),
            )
            managed.sessions = sessions = Sessions(
                log=log,
                agents=agents,
                supervisor=supervisor,
                creation=creation,
                launcher=launcher,
                services=services,
                worktrees=worktrees,
                checkpoints=checkpoints,
            )

            def charged(session: int, charges: Sequence[Charge]) -> None:
                for name in keys.charge(charges):
                    supervisor.interrupt(session, budget_batch(name))

            log.charged = charged

            async def take_up() -> None:
                left = await managed.unfinished(log, cluster and cluster.membership.without_owner)
                await supervisor.recover()
                managed.recover(left, tasks)

            node = None
            if cluster is not None:
                from everyagent.cluster.node import Node

                async def refresh() -> None:
                    await keys.reload()
                    await webhooks.refresh()

                node = services.node = Node(
                    cluster,
                    vault.derived(b"forwarded requests"),
                    abandon=supervisor.abandon,
                    take_up=take_up,
                    refresh=refresh,
                    live_sessions=lambda: sum(actor.live for actor in supervisor.actors()),
                    shared_clock=cluster_clock,
                )
                supervisor.release = cluster.release
                keys.changed.append(lambda: cluster.announce("keys_changed"))
                webhooks.nodes = node.ids
                webhooks.changed.append(lambda: cluster.announce("keys_changed"))
                tasks.start_soon(keep_running, "events of other nodes", cluster.run)
                tasks.start_soon(keep_running, "heartbeats", node.run)
            try:
                await take_up()
                await webhooks.refresh()
                tasks.start_soon(keep_running, "sweep", supervisor.sweep)
                tasks.start_soon(keep_running, "sweep of worktrees", worktrees.sweep)
                tasks.start_soon(keep_running, "sweep of checkpoints", checkpoints.sweep, log.session_by_number)
                if settings.otel_endpoint:
                    from everyagent.telemetry.courier import TraceCourier
                    from everyagent.telemetry.otlp import OtlpSender

                    traces = TraceCourier(
                        log,
                        OtlpSender(settings.otel_endpoint),
                        content=settings.otel_content,
                        nodes=node.ids if node else None,
                    )
                    tasks.start_soon(keep_running, "telemetry", traces.run)
                tasks.start_soon(keep_running, "deployments", managed.run_deployments, log)
                tasks.start_soon(keep_running, "threads of rosters", managed.report_threads)
                yield sessions
            finally:
                with anyio.CancelScope(shield=True):
                    keys.close()
                    await supervisor.close()
                    if node is not None:
                        await node.leave()
                    await agents.close()
                    await reaper.close()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await log.close()


async def run(
    settings: Settings,
    *,
    ready: Callable[[RunningDaemon], None],
    found: Callable[[Mapping[str, AgentState], str], None] | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve until cancelled or stopped by SIGINT or SIGTERM.

    `ready` is called when requests are accepted, `found` some time later with the state of the agents and the
    isolation of sessions that name none.
    """
    # Lets the log's writer thread run soon while the event loop is busy.
    sys.setswitchinterval(0.0005)
    tune()
    token = ensure_token(settings)
    limits = limits or convert(settings, Limits, from_attributes=True)
    certificate = TlsCertificate(settings.tls_cert, settings.tls_key) if settings.tls_cert else None
    with ExitStack() as at_the_end:
        listener = local = at_the_end.enter_context(listen(settings.host, settings.port))
        if certificate is not None:
            # Agents and commands on this machine could not check the certificate: it has another name.
            local = at_the_end.enter_context(listen("127.0.0.1", 0))
        host = settings.host if is_loopback(settings.host) and local is listener else "127.0.0.1"
        url = f"http://{f'[{host}]' if ':' in host else host}:{local.getsockname()[1]}"
        node_url = addresses.for_nodes(settings, listener) if settings.cluster else None
        managed = LazyManaged()
        async with sessions_of(
            settings, limits=limits, url=url, token=token, managed=managed, node_url=node_url
        ) as sessions:
            proxies = TrustedProxies(settings.trusted_proxy) if settings.trusted_proxy else None
            api_settings = ApiSettings(
                token=token,
                token_file=None if settings.token else settings.data_dir / TOKEN_FILE,
                hosts=addresses.accepted_hosts(settings, node_url),
                data_dir=settings.data_dir,
                key_directory=settings.key_directory or Path.cwd(),
                origins=settings.allowed_origin.lower().split(",") if settings.allowed_origin else (),
                oidc=settings.oidc,
                prefix=urlsplit(settings.public_url or "").path.rstrip("/"),
                proxies=proxies,
                access_log=settings.access_log,
                starts=StartSettings(
                    depth=settings.mcp_depth, per_hour=settings.mcp_starts_per_hour, budget_usd=settings.mcp_budget
                ),
                max_requests=settings.max_requests,
            )
            forwarder = _forwarder(sessions, api_settings)
            app = create_app(sessions, api_settings, managed=lambda: managed.managed, forwarder=forwarder)

            async def close() -> None:
                await sessions.close()
                if forwarder is not None and sessions.services.node is not None:
                    await sessions.services.node.leave()
                    await forwarder.close()

            async with anyio.create_task_group() as tasks:

                def serving() -> None:
                    ready(RunningDaemon(url=url, token=token, public_url=addresses.for_people(settings, listener)))
                    systemd.notify("READY=1")
                    tasks.start_soon(keep_running, "watchdog of systemd", systemd.feed_watchdog)
                    if found:
                        tasks.start_soon(keep_running, "state of the agents", _report_agents, sessions, found)

                tasks.start_soon(_until_signalled, tasks.cancel_scope)
                tasks.start_soon(keep_running, "look at the token", _watch_token, app.owner)
                tasks.start_soon(keep_running, "retention", retain, sessions, retention(settings))
                if certificate is not None:
                    tasks.start_soon(keep_running, "look at the certificate", certificate.watch)
                await serve(
                    app,
                    local,
                    serving,
                    close,
                    ConnectionLimits(connections=settings.max_connections),
                    trusted=proxies.includes if proxies else lambda _: False,
                    tls=TlsListener(listener, certificate.context) if certificate else None,
                )


def _forwarder(sessions: Sessions, settings: ApiSettings) -> "Forwarder | None":
    """In a cluster only."""
    if sessions.services.node is None:
        return None
    from everyagent.api.forwarding import Forwarder

    return Forwarder(sessions.services.node, sessions.held, settings.max_body, settings.max_upload)


async def _watch_token(owner: OwnerToken) -> None:
    """Ends streams soon after the token was replaced, even if no request comes."""
    while True:
        owner.digest()
        await anyio.sleep(_TOKEN_SECONDS)


async def _report_agents(sessions: Sessions, found: Callable[[Mapping[str, AgentState], str], None]) -> None:
    found(await sessions.agents.states(), await sessions.agents.isolation.described())


async def _until_signalled(serving: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            systemd.notify("STOPPING=1")
            serving.cancel()
            return


def _containers(settings: Settings) -> Containers | None:
    if settings.container_image is None:
        return None
    return Containers(settings.container_image, tuple(shlex.split(settings.container_engine)))
