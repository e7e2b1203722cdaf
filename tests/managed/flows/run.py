"""Runs one flow in an SDK's own environment, and prints the called methods and seen events."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import cast

import anthropic

methods: set[str] = set()
#: Attributes of SDK resources that are not API methods.
NOT_CALLS = frozenset({"with_raw_response", "with_streaming_response", "poller", "worker", "tool_runner"})


class Recorder:
    """Wraps the client or one of its resources, and records the names of called methods."""

    def __init__(self, target: object, path: str) -> None:
        self._target = target
        self._path = path

    def __getattr__(self, name: str) -> object:
        found = cast(object, getattr(self._target, name))
        plain = name in ("with_raw_response", "with_streaming_response")
        path = self._path if plain else f"{self._path}.{name}".lstrip(".")
        if plain or hasattr(found, "with_raw_response"):
            return Recorder(found, path)
        return self._recorded(found, path) if callable(found) else found

    def call_everything(self) -> None:
        """Record every method as called."""
        methods.update(self._known())

    def _known(self) -> Iterator[str]:
        names = sorted(name for name in dir(type(self._target)) if not name.startswith("_") and name not in NOT_CALLS)
        for name in names:
            found = cast(object, getattr(self._target, name))
            if hasattr(found, "with_raw_response"):
                yield from Recorder(found, f"{self._path}.{name}")._known()
            elif callable(found):
                yield f"{self._path}.{name}"

    @staticmethod
    def _recorded(method: Callable[..., object], path: str) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            methods.add(path)
            return method(*args, **kwargs)

        return call


def main() -> None:
    client = anthropic.Anthropic(
        base_url=os.environ["BASE_URL"], api_key=os.environ["TOKEN"], _strict_response_validation=True
    )
    events = importlib.import_module("seen").EVENTS
    flow = importlib.import_module(sys.argv[1])
    flow.flow(Recorder(client, ""), **json.loads(os.environ["FACTS"]))
    sys.stdout.write(json.dumps({"methods": sorted(methods), "events": sorted(events)}) + "\n")


main()
