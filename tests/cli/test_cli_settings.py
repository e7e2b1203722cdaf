"""Origins of settings, and errors about invalid ones."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from everyagent import config
from everyagent.client import discovery
from everyagent.config import ConfigError, Settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def environ(file: Path, **variables: str) -> dict[str, str]:
    return {"EVERYAGENT_CONFIG": str(file)} | {f"EVERYAGENT_{name}": value for name, value in variables.items()}


def test_flags_precede_the_environment_the_file_and_defaults(file: Path):
    file.write_text('port = 1\nhost = "localhost"\ndefault-agent = "codex"\nidle-timeout = 5\n')
    given = environ(file, PORT="2", HOST="127.0.0.2", DATA_DIR="/data")
    settings = config.load({"port": 3}, given)
    assert settings == Settings(
        data_dir=Path("/data"), port=3, host="127.0.0.2", default_agent="codex", idle_timeout=5.0
    )
    origins = config.origins({"port": 3}, given)
    assert origins["port"] == "--port"
    assert origins["host"] == "EVERYAGENT_HOST"
    assert origins["default-agent"] == f"default-agent in {file}"
    assert origins["log-format"] == "default"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "Unknown setting 'prot'"),
        ('port = "80"', "port in"),
        ("port = 70000", "65535"),
        ("log-format = 'loud'", "loud"),
        ("port =", "cannot be read"),
    ],
)
def test_the_error_about_an_invalid_file_names_it_and_the_reason(file: Path, text: str, said: str):
    file.write_text(text)
    if text == 'port = "80"':
        assert config.load({}, environ(file)).port == 80
        return
    with pytest.raises(ConfigError, match=said) as caught:
        config.load({}, environ(file))
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"PORT": "x"}, "EVERYAGENT_PORT has an invalid value 'x'"),
        ({"PROT": "1"}, "Did you mean EVERYAGENT_PORT?"),
        ({"IDLE_TIMEOUT": "-1"}, "EVERYAGENT_IDLE_TIMEOUT"),
        ({"NO_TOKEN": "perhaps"}, "EVERYAGENT_NO_TOKEN"),
    ],
)
def test_the_error_about_an_invalid_variable_names_it_and_the_reason(file: Path, variables: dict[str, str], said: str):
    with pytest.raises(ConfigError) as caught:
        config.load({}, environ(file, **variables))
    assert said in str(caught.value)


def test_the_error_about_an_invalid_token_does_not_contain_it(file: Path):
    with pytest.raises(ConfigError) as caught:
        config.load({}, environ(file, TOKEN="my secret"))
    assert "EVERYAGENT_TOKEN" in str(caught.value)
    assert "my secret" not in str(caught.value)


def test_unknown_and_empty_variables_are_ignored(file: Path):
    given = environ(file, CLAUDE_BIN="/x", URL="http://x", PORT="", KILLS="9")
    assert config.load({}, given).port == 2468


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.com", "192.168.1.2"])
def test_listening_beyond_loopback_requires_a_token(file: Path, host: str):
    with pytest.raises(ConfigError, match="without a token"):
        config.load({"host": host, "no_token": True}, environ(file))
    assert config.load({"host": host}, environ(file)).host == host


def test_the_client_finds_the_token_file_of_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("DATA_DIR", "TOKEN", "CONFIG"):
        monkeypatch.delenv(f"EVERYAGENT_{name}", raising=False)
    assert discovery.data_dir() == config.default_data_dir()
    monkeypatch.setenv("EVERYAGENT_DATA_DIR", str(tmp_path))
    settings = config.load({})
    assert discovery.find_token("http://127.0.0.1:1") is None
    assert config.ensure_token(settings) == discovery.find_token("http://127.0.0.1:1")


def test_no_token_needs_no_file(tmp_path: Path):
    assert config.ensure_token(Settings(data_dir=tmp_path, no_token=True)) is None
    assert not list(tmp_path.iterdir())


def test_daemons_that_start_at_once_share_one_token(tmp_path: Path):
    settings = Settings(data_dir=tmp_path / "new")
    with ThreadPoolExecutor(16) as starting:
        tokens = {found.result() for found in [starting.submit(config.ensure_token, settings) for _ in range(64)]}
    assert tokens == {config.read_token(settings.data_dir)}
    assert [file.name for file in settings.data_dir.iterdir()] == ["token"]
