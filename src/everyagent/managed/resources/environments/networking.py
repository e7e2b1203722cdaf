"""The hosts and MCP servers that a session can reach under limited networking."""

from collections.abc import Sequence

from everyagent.managed.resources.agents.shape import McpServer
from everyagent.managed.resources.environments.shape import Cloud, Config, Limited
from everyagent.model.hosts import admits, host_in

#: The default hosts of package registries.
REGISTRIES = (
    *("pypi.org", "files.pythonhosted.org"),
    *("registry.npmjs.org", "registry.yarnpkg.com"),
    *("crates.io", "index.crates.io", "static.crates.io"),
    *("rubygems.org", "index.rubygems.org"),
    *("proxy.golang.org", "sum.golang.org"),
    *("deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"),
)


def limited(config: Config) -> Limited | None:
    return config.networking if isinstance(config, Cloud) and isinstance(config.networking, Limited) else None


def hosts_of(config: Config, servers: Sequence[McpServer]) -> list[str] | None:
    """The hosts that commands may reach; None for no limit."""
    network = limited(config)
    if network is None:
        return None
    hosts = [*network.allowed_hosts, *(REGISTRIES if network.allow_package_managers else ())]
    if network.allow_mcp_servers:
        hosts += [server.url for server in servers]
    return list(dict.fromkeys(host for each in hosts if (host := host_in(each))))


def reaches(config: Config, server: McpServer) -> bool:
    """Whether the network allows this MCP server."""
    network = limited(config)
    if network is None or network.allow_mcp_servers:
        return True
    return admits([host for each in network.allowed_hosts if (host := host_in(each))], server.url)
