"""The environment variables that are passed on to agents."""

from everyagent.runtime.environment import scrubbed

DAEMON = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_ALL": "C.UTF-8",
    "EVERYAGENT_TOKEN": "secret",
    "ANTHROPIC_API_KEY": "key",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "SSH_AUTH_SOCK": "/sock",
    "HTTPS_PROXY": "http://proxy",
    "PYTHONPATH": "/x",
}


def test_only_listed_variables_are_passed_on() -> None:
    assert scrubbed(DAEMON, session={}) == {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8"}


def test_an_adapter_can_allow_further_variables() -> None:
    assert scrubbed(DAEMON, allow={"ANTHROPIC_API_KEY"}, session={})["ANTHROPIC_API_KEY"] == "key"


def test_variables_of_the_daemon_are_never_passed_on() -> None:
    assert "EVERYAGENT_TOKEN" not in scrubbed(DAEMON, allow={"EVERYAGENT_TOKEN"}, session={})


def test_variables_of_the_session_take_precedence() -> None:
    assert scrubbed(DAEMON, session={"PATH": "/own", "MINE": "1"})["PATH"] == "/own"
