"""The files in `deploy/`: checked by the programs that read them where these are installed, and by rules of our own."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any, cast

import jsonschema_rs
import pytest
import yaml

from everyagent.cli import runner as runner_command
from everyagent.config import Settings

DEPLOY = Path(__file__).parent.parent / "deploy"
CHART = DEPLOY / "helm" / "everyagent"
UNITS = sorted((DEPLOY / "systemd").iterdir())
VARIABLES = {f"EVERYAGENT_{name.upper()}" for name in Settings.__struct_fields__}


class Strict(yaml.SafeLoader):
    """Refuses a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        assert len(keys) == len(set(keys)), f"a key is given twice: {node.start_mark}"
        return super().construct_mapping(node, deep)


def documents(text: str) -> list[dict[str, Any]]:
    return [each for each in yaml.load_all(text, Strict) if each]


def all_files() -> Iterator[Path]:
    return (path for path in DEPLOY.rglob("*") if path.is_file())


def test_every_variable_is_a_setting():
    used = {name for path in all_files() for name in re.findall(r"EVERYAGENT_[A-Z_]*[A-Z]", path.read_text())}
    assert {"EVERYAGENT_STORE", "EVERYAGENT_BUS", "EVERYAGENT_BLOBS", "EVERYAGENT_VAULT_KEY"} <= used
    assert used - VARIABLES == set()


def test_the_compose_file_has_three_nodes_and_refers_only_to_what_it_has():
    (compose,) = documents((DEPLOY / "compose.yaml").read_text())
    services = cast("dict[str, dict[str, Any]]", compose["services"])
    nodes = {name: each for name, each in services.items() if name.startswith("node")}
    assert len(nodes) == 3
    (balancing,) = re.findall(r"reverse_proxy (.*) \{", compose["configs"]["caddy"]["content"])
    assert services["balancer"]["configs"] == [{"source": "caddy", "target": "/etc/caddy/Caddyfile"}]
    for option in ("health_uri /v1/ready", "health_interval 1s", "lb_try_duration 5s"):
        assert option in compose["configs"]["caddy"]["content"]
    for name, node in nodes.items():
        environment = node["environment"]
        assert environment["EVERYAGENT_NODE_URL"] == f"http://{name}:2468"
        assert re.match(r"postgresql://\w+@postgres/", environment["EVERYAGENT_STORE"])
        assert environment["EVERYAGENT_BUS"] == "nats://nats:4222"
        assert "endpoint=http://s3:8333" in environment["EVERYAGENT_BLOBS"]
        assert f"{name}:2468" in balancing
    for service in services.values():
        assert set(service.get("depends_on", [])) <= set(services)
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(compose["volumes"])
        assert {each["source"] for each in service.get("configs", [])} <= set(compose["configs"])
        assert re.fullmatch(r"everyagent|[\w/]+:[\w.-]+", service["image"])
    json.loads(compose["configs"]["s3"]["content"])
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        names = ("EVERYAGENT_TOKEN", "EVERYAGENT_VAULT_KEY", "POSTGRES_PASSWORD", "S3_SECRET_KEY")
        checked = subprocess.run(
            ["docker", "compose", "-f", str(DEPLOY / "compose.yaml"), "config", "--quiet"],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", **dict.fromkeys(names, "x")},
            capture_output=True,
            text=True,
        )
        assert checked.returncode == 0, checked.stderr


def rendered(template: str) -> str:
    """The template with all its blocks, and a word in place of each value. Helm itself is not needed for that."""
    lines = [line for line in template.splitlines() if not re.fullmatch(r"\s*\{\{-.*\}\}", line)]
    return re.sub(r'"?\{\{.*?\}\}"?', "value", "\n".join(lines))


def test_the_chart_is_whole_and_takes_its_values():
    values = yaml.load((CHART / "values.yaml").read_text(), Strict)
    schema = json.loads((CHART / "values.schema.json").read_text())
    validator = jsonschema_rs.validator_for(schema)
    validator.validate(values)
    for wrong in ({"replicas": 0}, {"store": "mysql://x"}, {"blobs": "ftp://x"}, {"replica": 3}):
        assert not validator.is_valid({**values, **wrong}), wrong
    kinds: set[str] = set()
    for path in sorted((CHART / "templates").glob("*.yaml")):
        text = path.read_text()
        assert text.count("{{") == text.count("}}")
        opened, closed = re.findall(r"\{\{-? (?:if|with|range)\b", text), re.findall(r"\{\{-? end\b", text)
        assert len(opened) == len(closed), path
        for name in re.findall(r"\.Values\.(\w+)", text):
            assert name in values, f"{path.name} uses {name}"
        for document in documents(rendered(text)):
            kinds.add(document["kind"])
            assert {"apiVersion", "metadata", "spec"} <= set(document)
            if document["kind"] == "StatefulSet":
                pod = document["spec"]["template"]["spec"]
                assert pod["securityContext"]["runAsNonRoot"] is True
                (container,) = pod["containers"]
                assert container["readinessProbe"]["httpGet"]["path"] == "/v1/ready"
                assert container["livenessProbe"]["httpGet"]["path"] == "/v1/health"
    assert kinds == {"Service", "StatefulSet", "PodDisruptionBudget"}
    if shutil.which("helm"):
        store = "store=postgresql://u@h/d"
        linted = subprocess.run(["helm", "lint", str(CHART), "--set", store], capture_output=True, text=True)
        assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_has_its_sections_and_starts_programs_by_their_path(path: Path):
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    unit.read(path)
    kind = {".service": "Service", ".timer": "Timer"}[path.suffix]
    assert {"Unit", kind} <= set(unit.sections()) <= {"Unit", kind, "Install"}
    assert unit["Unit"]["Description"]
    for line in path.read_text().splitlines():
        assert re.fullmatch(r"(#.*|\[\w+\]|[A-Z]\w+=.*)?", line), line
        if line.startswith("ExecStart="):
            program, *words = shlex.split(line.removeprefix("ExecStart="))
            assert program.startswith("/")
            assert not program.endswith("everyagent") or words[0] in ("serve", "backup", "runner")


def test_the_runner_starts_with_options_that_it_has():
    dockerfile = (DEPLOY / "runner" / "Dockerfile").read_text()
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.M)
    *_, program, command = (words := json.loads(entry))[: words.index("--directory")]
    assert (program, command) == ("everyagent", "runner")
    (manifest,) = documents((DEPLOY / "runner" / "kubernetes.yaml").read_text())
    pod = manifest["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["image"] in dockerfile
    mounted = {each["name"] for each in container["volumeMounts"]}
    claimed = {each["metadata"]["name"] for each in manifest["spec"]["volumeClaimTemplates"]}
    assert mounted == claimed | {each["name"] for each in pod["volumes"]}
    unit = (DEPLOY / "systemd" / "everyagent-runner.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    for given in (
        [*words[words.index("--directory") :], *container["args"]],
        shlex.split(start)[2:],
    ):
        _, options, _ = runner_command.app.parse_args(given, exit_on_error=False, print_error=False)
        assert options.arguments["connect"].startswith("https://")
        assert options.arguments["key_file"].name == "key"


def test_the_image_runs_as_a_user_without_rights_and_has_the_extras():
    text = (DEPLOY / "Dockerfile").read_text()
    (user,) = re.findall(r"^USER (\d+):\d+$", text, re.M)
    assert int(user) >= 10_000
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
        for name in source.split():
            assert (DEPLOY.parent / name).exists(), name
    (extras,) = re.findall(r"\.\[([\w,]+)\]", text)
    assert set(extras.split(",")) == {"postgres", "nats", "s3", "oidc", "otel"}
