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


def test_only_what_is_needed_passes() -> None:
    assert scrubbed(DAEMON, session={}) == {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8"}


def test_an_adapter_may_name_what_it_needs() -> None:
    assert scrubbed(DAEMON, allow={"ANTHROPIC_API_KEY"}, session={})["ANTHROPIC_API_KEY"] == "key"


def test_the_daemons_own_variables_never_pass() -> None:
    assert "EVERYAGENT_TOKEN" not in scrubbed(DAEMON, allow={"EVERYAGENT_TOKEN"}, session={})


def test_what_the_session_gives_wins() -> None:
    assert scrubbed(DAEMON, session={"PATH": "/own", "MINE": "1"})["PATH"] == "/own"
