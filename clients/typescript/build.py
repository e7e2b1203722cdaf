"""Builds the npm package of the TypeScript client: types from the OpenAPI document, then JavaScript.

python clients/typescript/build.py [FOLDER]     needs Node, and the tools in inspector/node_modules: use `make client`
"""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

from everyagent.api.routes import openapi_json

HERE = Path(__file__).resolve().parent
INSPECTOR = HERE.parents[1] / "inspector"
TOOLS = INSPECTOR / "node_modules"
_GENERATED = shutil.ignore_patterns("schema.ts", "dist", "openapi.json", "build.py", "__pycache__")


def build(folder: Path) -> None:
    """The package in a folder, with `dist/`. It may be this one."""
    if folder != HERE:
        shutil.copytree(HERE, folder, ignore=_GENERATED, dirs_exist_ok=True)
    (folder / "openapi.json").write_bytes(openapi_json())
    tools = runpy.run_path(str(INSPECTOR / "build.py"))
    node: Path = tools["node"]()
    if not (TOOLS / "typescript").exists():
        subprocess.run(
            [*tools["npm"](node), "ci", "--silent"], cwd=INSPECTOR, env=tools["environment"](node), check=True
        )
    generate = ["openapi.json", "--default-non-nullable", "false", "--output", "src/schema.ts"]
    _run(folder, [node, TOOLS / "openapi-typescript" / "bin" / "cli.js", *generate])
    _run(folder, [node, TOOLS / "typescript" / "bin" / "tsc"])


def _run(folder: Path, argv: list[str | Path]) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{Path(argv[1]).name} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve() if sys.argv[1:] else HERE)
