"""Order rules and conformance suites to test adapters, logs and clients with. Needs the extra `everyagent[testing]`."""

from importlib.util import find_spec

_missing = [package for package in ("pytest", "hypothesis") if find_spec(package) is None]
if _missing:
    raise ImportError(
        f"everyagent.testing needs {' and '.join(_missing)}, which this environment does not have. "
        "Install the extra: pip install 'everyagent[testing]'"
    )
