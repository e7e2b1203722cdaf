"""The document of a managed session: agent, environment, budget, and what is finished."""

from typing import Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from everyagent.managed.projection.state import AT_WORK, SessionOutcome, State, Thread
from everyagent.model.parts import Object

PolicyType: TypeAlias = Literal["always_allow", "always_ask", "auto"]


class ThreadOf(Struct, frozen=True, kw_only=True):
    """The coordinator's session, in which a session is the thread `thread`, under the key `key`."""

    session: str
    thread: str
    key: str


class SessionDocument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`agent` is the snapshot that clients see, `environment` the one that the session was created with.

    `self_hosted`: the client runs the toolset. `threads` are all threads, by the item id of the call that
    started each: as they were when they were created or came to rest last. `outcomes` are those that ended.
    `thread_of`: the session is a thread of another one's roster.
    """

    agent: Object
    environment_id: str
    environment: Object = {}
    vault_ids: list[str] = []
    budget: Object | None = None
    self_hosted: bool = False
    deployment_id: str | None = None
    threads: dict[str, Thread] = {}
    outcomes: list[SessionOutcome] = []
    thread_of: ThreadOf | None = None

    @property
    def agent_name(self) -> str:
        return str(self.agent.get("name") or "agent")

    @property
    def limit_usd(self) -> float | None:
        """The budget in dollars; it is stored in cents."""
        match self.budget:
            case {"max_list_cost": {"amount": str() | int() as amount}}:
                return float(amount) / 100
            case _:
                return None

    def policy(self, name: str, server: str | None) -> PolicyType:
        """The policy for a tool in the agent's definition; `auto` if it has none."""
        for tool in cast("list[Object]", self.agent.get("tools") or []):
            mine = tool.get("mcp_server_name") == server if server else tool.get("type") == "agent_toolset_20260401"
            if mine:
                return _policy(tool, name) or ("always_ask" if server else "always_allow")
        return "auto"


def settle(state: State, document: SessionDocument) -> SessionDocument:
    """Moves what is finished out of the state, which is written with every step, into the document, which is not."""
    changed = {
        item_id: replace(thread)
        for item_id, thread in state.threads.items()
        if item_id not in document.threads or (thread.status not in AT_WORK and thread != document.threads[item_id])
    }
    if changed or state.outcomes:
        threads, outcomes = {**document.threads, **changed}, [*document.outcomes, *state.outcomes]
        document = replace(document, threads=threads, outcomes=outcomes)
        state.outcomes = []
    state.threads = {item_id: thread for item_id, thread in state.threads.items() if thread.status in AT_WORK}
    return document


def _policy(toolset: Object, name: str) -> PolicyType | None:
    configs = cast("list[Object]", toolset.get("configs") or [])
    named = [config for config in configs if config.get("name") == name]
    default = cast("Object | None", toolset.get("default_config"))
    for config in (*named, default or {}):
        given = cast("Object", config.get("permission_policy") or {})
        if given.get("type") in get_args(PolicyType):
            return cast("PolicyType", given["type"])
    return None
