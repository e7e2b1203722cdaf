"""A profile: everything in which one ACP agent differs from another. `profiles/` has one file for each."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.model.policies import AgentTool, Verdict

#: How an agent names the tool of a call: in `_meta`, as the start of the call's id, as its first title, or not at all,
#: so that the name follows from the call's kind.
NameSource: TypeAlias = Literal["meta", "id", "title", "kind"]
#: What the usage in a turn's result is: the turn's, the session's so far, or only the last request's.
UsageScope: TypeAlias = Literal["turn", "session", "last_request"]

#: Tools for which the agent never asks in its strictest mode: policies cannot deny them.
UNASKED: list[Verdict] = ["auto", "allow"]


class NpmPackage(Struct, frozen=True, kw_only=True):
    """The origin of the program. `member` is the file to start; a `.js` or `.mjs` file is started with Node.

    `package` and `member` may contain `{platform}`. `dependencies`: npm has to install the package's dependencies.
    """

    package: str
    version: str
    member: str
    whole: bool = True
    dependencies: bool = False
    node: int = 20


class PypiPackage(Struct, frozen=True, kw_only=True):
    """The origin of a program from PyPI, which uv installs. `command` is its script, `python` the version it needs."""

    package: str
    version: str
    command: str
    python: str


class Profile(Struct, frozen=True, kw_only=True):
    """One agent. Every default fits an agent that follows the protocol closely.

    * `command` is the program's name on the PATH, `arguments` make it speak ACP. `own_command` is the whole command
      line of an agent from the user's settings.
    * `passed` are variables of the daemon's environment that name an account or a model's API, `prefixes` begin further
      ones, `variables` are set in any case. One of `keys`, or one of the files `logins` in the home, is a login.
    * `model_variable` and `model_argument` choose the model at the start, for agents that do not list models.
    * `modes` maps universal permission modes to the agent's own; the daemon enforces those that it lacks. `asking` is
      the mode in which it asks for most, which tool policies need.
    * `delegates` are tools whose sub-agents act without asking: refused while tool policies restrict anything.
    * `errors` and `notices` begin chunks of the agent's own that are no words of the model. `retry` is a pattern of
      those which report that it repeats a request.
    * `exit_words` is a pattern of a command's output that holds its exit code, for agents that report it nowhere else.
    * `whole_calls`: a call is announced with its whole input.
    * `bash_env`: its commands run in a bash that reads BASH_ENV, so that they can be limited to some hosts.
    * `native_homes` are folders in the home that hold settings, logins and native sessions.
    """

    name: str
    title: str
    npm: NpmPackage | None = None
    pypi: PypiPackage | None = None
    command: str = ""
    arguments: tuple[str, ...] = ()
    own_command: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}
    keys: tuple[str, ...] = ()
    logins: tuple[str, ...] = ()
    login_hint: str = ""
    native_homes: tuple[str, ...] = ()
    auth_method: str | None = None
    model_variable: str | None = None
    model_argument: str | None = None
    modes: Mapping[str, str] = {}
    asking: str | None = None
    tools: tuple[AgentTool, ...] = ()
    delegates: tuple[str, ...] = ()
    tool_names: NameSource = "kind"
    usage: UsageScope = "turn"
    arguments_in_content: bool = False
    whole_calls: bool = False
    errors: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    retry: str | None = None
    exit_words: str | None = None
    live_content: bool = False
    client_methods: bool = False
    bash_env: bool = False
    load_delay: float = 0.0
    mcp: bool = True
    local_mcp: bool = True
    images: bool = True
    always_option: str | None = None
    #: Lost over ACP; shown in the documentation.
    gaps: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The environment variable that may name another binary."""
        return f"EVERYAGENT_{self.name.upper().replace('-', '_')}_BIN"
