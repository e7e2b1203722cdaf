"""Permission decisions by mode, and conversion of the user's Amp settings."""

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from everyagent.agents.amp import settings
from everyagent.agents.amp.always import MOST, AlwaysAllowed
from everyagent.agents.amp.permissions import Allowed, AllowRule, AmpToolRequest, MustAsk, Rejected, Standing, decide
from everyagent.errors import AgentFailed

DELEGATES: dict[Standing, Path] = {"allowed": Path("/d/allowed"), "asked": Path("/d/asked"), "unsettled": Path("/d/un")}


def wish(tool: str, standing: Standing = "unsettled", **input: object) -> AmpToolRequest:
    return AmpToolRequest(tool, Raw(msgspec.json.encode(input)), standing)


@pytest.mark.parametrize(
    ("mode", "edit", "elsewhere", "command", "web"),
    [
        ("default", MustAsk, MustAsk, MustAsk, MustAsk),
        ("acceptEdits", Allowed, MustAsk, MustAsk, MustAsk),
        ("plan", Rejected, Rejected, Rejected, MustAsk),
        ("bypass", Allowed, Allowed, Allowed, Allowed),
    ],
)
def test_each_mode_decides_as_documented(
    tmp_path: Path, mode: str, edit: type, elsewhere: type, command: type, web: type
) -> None:
    wishes = [
        (wish("edit_file", path=str(tmp_path / "a.txt")), edit),
        (wish("create_file", path="/etc/passwd"), elsewhere),
        (wish("shell_command", command="ls"), command),
        (wish("mcp__sums__add", a=1), command),
        (wish("never_heard_of"), command),
        (wish("read_web_page", url="https://example.com"), web),
    ]
    for each, expected in wishes:
        assert isinstance(decide(each, mode, tmp_path, set()), expected), each


@pytest.mark.parametrize(
    "path", ["../out.txt", ".amp/settings.json", "sub/.git/hooks/x", ".AMP/plugins/x.ts", "~/x", "link/x", ""]
)
def test_accept_edits_asks_for_paths_outside_the_workspace_or_protected(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "link").symlink_to(tmp_path)
    assert isinstance(decide(wish("create_file", path=path), "acceptEdits", home, set()), MustAsk)


def test_accept_edits_covers_a_patch_only_if_all_its_files_are_in_the_workspace(tmp_path: Path) -> None:
    def patch(*lines: str) -> AmpToolRequest:
        return wish("apply_patch", patchText="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))

    inside = patch("*** Add File: a.txt", "+x", "*** Update File: b.txt", "*** Move to: sub/c.txt")
    assert isinstance(decide(inside, "acceptEdits", tmp_path, set()), Allowed)
    for line in ("*** Move to: ../c.txt", "*** Delete File: /etc/passwd", "*** Add File: .amp/plugins/x.ts"):
        outside = patch("*** Update File: a.txt", line)
        assert isinstance(decide(outside, "acceptEdits", tmp_path, set()), MustAsk)
    assert isinstance(decide(patch("nothing we know"), "acceptEdits", tmp_path, set()), MustAsk)


def test_an_allow_rule_covers_everything_but_edits_outside_the_workspace(tmp_path: Path) -> None:
    for mode in ("default", "acceptEdits"):
        assert isinstance(decide(wish("shell_command", "allowed", command="ls"), mode, tmp_path, set()), Allowed)
        assert isinstance(decide(wish("edit_file", "allowed", path="a"), mode, tmp_path, set()), Allowed)
        assert isinstance(decide(wish("edit_file", "allowed", path="/etc/x"), mode, tmp_path, set()), MustAsk)
    assert isinstance(decide(wish("shell_command", "allowed", command="ls"), "plan", tmp_path, set()), Rejected)


def test_an_ask_rule_asks_even_in_accept_edits_mode(tmp_path: Path) -> None:
    assert isinstance(decide(wish("edit_file", "asked", path="a"), "acceptEdits", tmp_path, set()), MustAsk)


def test_an_always_rule_covers_only_the_same_call(tmp_path: Path) -> None:
    asked = decide(wish("shell_command", command="ls"), "default", tmp_path, set())
    assert isinstance(asked, MustAsk)
    assert asked.always
    always = {asked.always}
    assert isinstance(decide(wish("async_shell_command", command="ls"), "default", tmp_path, always), Allowed)
    for other in (wish("shell_command", command="ls -l"), wish("shell_command", command="ls", workdir="/")):
        assert isinstance(decide(other, "default", tmp_path, always), MustAsk)
    assert isinstance(decide(wish("shell_command", command="ls"), "plan", tmp_path, always), Rejected)


def test_always_rules_are_stored_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "always.json"
    for number in range(MOST + 5):
        AlwaysAllowed(path).add(AllowRule("tool", str(number)))
    rules = AlwaysAllowed(path).rules
    assert len(rules) == MOST
    assert AllowRule("tool", "0") not in rules
    path.write_text("broken")
    assert AlwaysAllowed(path).rules == set()


# -- settings -----------------------------------------------------------------------------------------------------


def test_user_rules_become_delegates_and_reject_rules_are_kept() -> None:
    user: settings.Settings = {
        "amp.permissions": [
            {"tool": "a", "action": "reject", "message": "no"},
            {"tool": "b", "action": "allow", "matches": {"x": "y"}},
            {"tool": "c", "action": "ask", "context": "subagent"},
            {"tool": "d", "action": "delegate", "to": "/mine"},
            "nonsense",
        ],
        "amp.dangerouslyAllowAll": True,
        "amp.tools.disable": ["web_search"],
    }
    made = settings.for_session(user, DELEGATES, "everyagent")
    rules = made["amp.permissions"]
    assert isinstance(rules, list)
    assert rules[:4] == [
        {"tool": "a", "action": "reject", "message": "no"},
        {"tool": "b", "action": "delegate", "matches": {"x": "y"}, "to": "/d/allowed"},
        {"tool": "c", "action": "delegate", "context": "subagent", "to": "/d/asked"},
        {"tool": "d", "action": "delegate", "to": "/mine"},
    ]
    assert rules[-1] == {"tool": "*", "action": "delegate", "to": "/d/un"}
    assert made["amp.dangerouslyAllowAll"] is False
    assert made["amp.tools.disable"] == ["web_search"]


def test_settings_are_read_with_comments_and_trailing_commas(tmp_path: Path) -> None:
    path = tmp_path / "settings.jsonc"
    path.write_text('// a\n{ "amp.url": "http://x/*y*/,]", /* b\n */ "amp.permissions": [1, 2,], // c\n}\n')
    assert settings.read(path) == {"amp.url": "http://x/*y*/,]", "amp.permissions": [1, 2]}
    path.write_text(" \n")
    assert settings.read(path) == {}
    assert settings.read(tmp_path / "none") == {}
    for broken in ("[1]", '{"a"', "nonsense", "[" * 100_000):
        path.write_text(broken)
        with pytest.raises(AgentFailed):
            settings.read(path)


def test_user_settings_are_found_in_the_places_where_amp_looks(tmp_path: Path) -> None:
    home, named = tmp_path / "home" / ".config" / "amp", tmp_path / "mine.json"
    elsewhere = tmp_path / "xdg" / "amp"
    for number, folder in enumerate((home, elsewhere)):
        folder.mkdir(parents=True)
        (folder / "settings.jsonc").write_text(json.dumps({"n": number}))
    named.write_text('{"n": 2}')
    environment = {"HOME": str(tmp_path / "home")}
    assert settings.of_user(environment) == {"n": 0}
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert settings.of_user(environment) == {"n": 1}
    assert settings.of_user({**environment, "AMP_SETTINGS_FILE": str(named)}) == {"n": 2}
