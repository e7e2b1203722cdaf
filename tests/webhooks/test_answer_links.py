"""Links in webhooks with which a person answers an ask: shown by a GET, answered by a POST, once."""

import re

import pytest

from everyagent.webhooks.answer_links import VALID_SECONDS, AnswerLink, AnswerLinks
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver
from tests.webhooks.sending_daemon import SendingDaemon, open_link


class SetClock:
    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def micros(self) -> int:
        return self.seconds * 1_000_000


def asked(daemon: SendingDaemon, receiver: Receiver, prompt: str) -> tuple[str, str]:
    """A session whose agent asks, and the link of the ask."""
    session = daemon.session(title="<b>Deploy</b>")
    daemon.send(session, prompt)
    found = wait_until(lambda: [each for each in list(receiver.received) if each.data["id"] == session])
    return session, str(found[-1].data["answer_url"])


def pending(daemon: SendingDaemon, session: str) -> int:
    asks = daemon.call("GET", f"/v1/sessions/{session}/asks")["asks"]
    assert isinstance(asks, list)
    return len(asks)


@pytest.fixture
def webhook(daemon: SendingDaemon, receiver: Receiver) -> str:
    return daemon.add(receiver, "permission.requested", "question.requested", answerLinks=True, name="pager")[0]


def test_a_link_shows_the_ask_and_only_a_post_answers_it(
    daemon: SendingDaemon, receiver: Receiver, webhook: str
) -> None:
    session, url = asked(
        daemon, receiver, '[tool name=bash command="echo <script>"]' + " [ask command='echo <script>']"
    )
    page = open_link(url)
    for _ in range(3):  # mail scanners follow links
        assert open_link(url).status_code == 200
        assert open_link(url, {"reply": "nonsense"}).status_code == 400
    assert pending(daemon, session) == 1
    assert "&lt;b&gt;Deploy&lt;/b&gt;" in page.text
    assert "<b>" not in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert "Thank you" in open_link(url, {"reply": "once"}).text
    for form in (None, {"reply": "reject"}):
        used = open_link(url, form)
        assert (used.status_code, "Already answered" in used.text) == (409, True)
    events = daemon.call("GET", f"/v1/sessions/{session}/events?types=permission.resolved")["events"]
    assert isinstance(events, list)
    (resolved,) = events
    assert resolved["data"]["reply"] == "once"
    assert resolved["actor"] == {"key_id": webhook, "name": "link of pager"}
    (entry,) = daemon.call("GET", f"/v1/audit?keyId={webhook}")["entries"]
    assert (entry["operation"], entry["sessionId"]) == ("POST /answer/{token}", session)
    daemon.remove(webhook)


def test_a_question_is_answered_with_a_choice_or_with_own_words(
    daemon: SendingDaemon, receiver: Receiver, webhook: str
) -> None:
    for form, expected in (({"choice0": "CHOICE"}, None), ({"text0": "neither"}, "neither")):
        session, url = asked(daemon, receiver, "[question]")
        label = re.findall(r'name="choice0" value="([^"]+)"', open_link(url).text)[0]
        given = {name: value.replace("CHOICE", label) for name, value in form.items()}
        assert open_link(url, given | {"reply": "answer"}).status_code == 200
        events = daemon.call("GET", f"/v1/sessions/{session}/events?types=question.resolved")["events"]
        assert isinstance(events, list)
        assert events[0]["data"]["answers"][0] == [expected or label]
    daemon.remove(webhook)


def test_a_link_ends_with_its_endpoint_or_its_permission(
    daemon: SendingDaemon, receiver: Receiver, webhook: str
) -> None:
    session, url = asked(daemon, receiver, "[ask]")
    daemon.call("PATCH", f"/v1/webhooks/{webhook}", {"answerLinks": False})
    assert open_link(url).status_code == 404
    daemon.call("PATCH", f"/v1/webhooks/{webhook}", {"answerLinks": True})
    assert open_link(url).status_code == 200
    foreign = open_link(url, {"reply": "once"}, origin="https://evil.example")
    assert foreign.status_code == 403
    daemon.remove(webhook)
    assert open_link(url, {"reply": "once"}).status_code == 404
    assert pending(daemon, session) == 1


def test_a_forged_or_altered_link_does_not_work(daemon: SendingDaemon, receiver: Receiver, webhook: str) -> None:
    session, url = asked(daemon, receiver, "[ask]")
    base, _, token = url.rpartition("/")
    altered = [token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :] for place in range(0, 60, 7)]
    for each in [*altered, token[:-4], token + "AAAA", "x", "%00", f"{token}/{token}"]:
        assert open_link(f"{base}/{each}", {"reply": "once"}).status_code == 404, each
    assert pending(daemon, session) == 1
    daemon.remove(webhook)


def test_a_link_expires() -> None:
    clock = SetClock(1_000_000)
    links = AnswerLinks(b"k" * 32, "https://agents.example/", clock)
    url = links.url("whk_1", "one")("perm_1")
    assert url.startswith("https://agents.example/answer/")
    link = AnswerLink("whk_1", "one", "perm_1", 1_000_000 + VALID_SECONDS)
    assert links.opened(url.rpartition("/")[2]) == link
    clock.seconds += VALID_SECONDS - 1
    assert not links.expired(link)
    clock.seconds += 1
    assert links.expired(link)
    assert AnswerLinks(b"j" * 32, "", clock).opened(links.token(link)) is None
