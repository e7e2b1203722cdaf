"""`everyagent webhooks`: sends messages about sessions to other servers."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import anyio
from cyclopts import App, Parameter

from everyagent.cli.daemon_connection import connect
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import age, one_line, print_json, print_table, say
from everyagent.client import AsyncClient
from everyagent.model.webhooks import Delivery, WebhookEventType, WebhookInfo

T = TypeVar("T")
app = App(name="webhooks", help="Tell other servers what happens in sessions.", help_epilogue=EPILOGUE)


@app.command
def add(
    url: str,
    /,
    *,
    event: Annotated[list[WebhookEventType] | None, Parameter(negative=())] = None,
    name: str = "",
    answer_links: Annotated[bool, Parameter(negative=())] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Add an endpoint and print the secret that signs its messages, which is not shown again.

    Parameters
    ----------
    url
        The address that messages are posted to.
    event
        An event to send; repeat it for more. [default: those of all sessions]
    name
        A name for people.
    answer_links
        Add a link to each request for a permission or an answer, with which anybody who has it can answer once.
    """
    if not url.startswith(("http://", "https://")):
        raise CliFailure(f"{url!r} is no address. Write one like https://example.org/hook.", ExitCode.USAGE)
    new = _asked(options, lambda client: client.create_webhook(url, events=event, name=name, answer_links=answer_links))
    if options.json:
        print_json(new)
        return
    say(f"Added the webhook {new.webhook.webhook_id}. It gets {', '.join(new.webhook.events)}.")
    say("Its secret is not shown again:")
    print(new.secret)


@app.command(name="list")
def list_webhooks(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List webhooks, and whether they work."""
    found = _asked(options, lambda client: client.webhooks())
    if options.json:
        print_json(found)
        return
    columns = ("WEBHOOK", "NAME", "WORKSPACE", "URL", "EVENTS", "CURSOR", "STATE")
    print_table(columns, [_row(webhook) for webhook in found])


@app.command
def remove(webhook_id: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Remove an endpoint. Its links for answers stop working.

    Parameters
    ----------
    webhook_id
        The id of the webhook, as `webhooks list` shows it.
    """
    removed = _asked(options, lambda client: client.remove_webhook(webhook_id))
    if options.json:
        print_json(removed)
    else:
        say(f"Removed {removed.webhook_id} ({removed.url}).")


@app.command(name="test")
def send_test(webhook_id: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Send a test message now. Exits with 1 if the endpoint does not accept it.

    Parameters
    ----------
    webhook_id
        The id of the webhook, as `webhooks list` shows it.
    """
    sent = _asked(options, lambda client: client.send_test_webhook(webhook_id))
    if options.json:
        print_json(sent)
    if sent.error:
        raise CliFailure(f"The endpoint did not accept the test message: {sent.error}.")
    if not options.json:
        say(f"The endpoint answered {sent.status} after {sent.duration_ms} ms.")


@app.command
def replay(webhook_id: str, /, *, after: str | None = None, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Continue a paused webhook where it stopped, or deliver again from an earlier place.

    Parameters
    ----------
    webhook_id
        The id of the webhook, as `webhooks list` shows it.
    after
        Deliver again everything after this cursor, as `webhooks deliveries` shows it; 0.0 is the beginning of the log.
        The cursor of the delivery that failed leaves out that one.
    """
    moved = _asked(options, lambda client: client.replay_webhook(webhook_id, after=after))
    if options.json:
        print_json(moved)
    else:
        say(f"{moved.webhook_id} gets everything after {moved.cursor}.")


@app.command
def deliveries(webhook_id: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List the latest deliveries, newest first.

    Parameters
    ----------
    webhook_id
        The id of the webhook, as `webhooks list` shows it.
    """
    found = _asked(options, lambda client: client.deliveries(webhook_id))
    if options.json:
        print_json(found)
        return
    columns = ("CURSOR", "TIME", "EVENT", "SESSION", "MESSAGE", "ATTEMPTS", "RESULT")
    print_table(columns, [_delivery_row(delivery) for delivery in found])


def _asked(options: DaemonOptions, call: Callable[[AsyncClient], Awaitable[T]]) -> T:
    async def asked() -> T:
        async with connect(options) as connection:
            return await call(connection.client)

    return anyio.run(asked, backend_options={"use_uvloop": True})


def _row(webhook: WebhookInfo) -> tuple[str, ...]:
    return (
        webhook.webhook_id,
        webhook.name,
        webhook.workspace,
        webhook.url,
        " ".join(webhook.events),
        webhook.cursor,
        _state(webhook),
    )


def _state(webhook: WebhookInfo) -> str:
    if webhook.paused_at is not None:
        return f"paused {age(webhook.paused_at)}: {one_line(webhook.pause_reason or '', 200)}"
    if webhook.failing_since is not None:
        last = webhook.last_delivery.error if webhook.last_delivery else ""
        return f"failing since {age(webhook.failing_since)}: {one_line(last)}"
    return "active"


def _delivery_row(delivery: Delivery) -> tuple[str, ...]:
    return (
        delivery.cursor or "",
        age(delivery.at),
        delivery.type,
        delivery.session_id or "",
        delivery.message_id,
        str(delivery.attempts),
        one_line(delivery.error) or f"{delivery.status} in {delivery.duration_ms} ms",
    )
