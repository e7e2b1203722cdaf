/** The webhooks: whether they work, and what was delivered. */
import { useEffect, useState } from "preact/hooks";
import type { Delivery, Webhook } from "../api/types";
import { now } from "../state/live";
import { attempt, notify } from "../state/notices";
import { sessionHref } from "../state/route";
import { deliveriesOf, loadWebhooks, pauseWebhook, removeWebhook, replayWebhook, stateOf, testWebhook, webhooks } from "../state/webhooks";
import { ago } from "../text/format";
import { Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";

const TAGS = { active: "good", failing: "warn", paused: "failed" };
const RELOAD_MS = 5000;

export function WebhooksView() {
  const [removing, setRemoving] = useState<Webhook | null>(null);
  useEffect(() => {
    void attempt(loadWebhooks);
    const timer = setInterval(() => void attempt(loadWebhooks), RELOAD_MS);
    return () => clearInterval(timer);
  }, []);
  const list = webhooks.value;
  return (
    <div class="page">
      <header class="page-header">
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon name="back" />
        </a>
        <h1>Webhooks</h1>
      </header>
      <div class="scroller page-body" tabIndex={0} aria-busy={!list}>
        {list && !list.length && (
          <div class="empty">
            <h2>No webhooks yet</h2>
            <p>
              A webhook tells another server when a turn ends or a person is wanted. Add one with <code>everyagent webhooks add URL</code>.
            </p>
          </div>
        )}
        {list?.map((webhook) => (
          <Endpoint key={webhook.webhookId} of={webhook} onRemove={() => setRemoving(webhook)} />
        ))}
      </div>
      {removing && <Remove of={removing} onClose={() => setRemoving(null)} />}
    </div>
  );
}

function Endpoint({ of: webhook, onRemove }: { of: Webhook; onRemove: () => void }) {
  const [deliveries, setDeliveries] = useState<Delivery[] | null>(null);
  const { webhookId: id, lastDelivery, cursor } = webhook;
  useEffect(() => {
    void attempt(() => deliveriesOf(id)).then((found) => found && setDeliveries(found));
  }, [id, lastDelivery?.messageId, lastDelivery?.at, cursor]);
  const state = stateOf(webhook);
  const test = async () => {
    const sent = await attempt(() => testWebhook(id));
    if (sent?.error) notify(`The test message failed: ${sent.error}.`, "error");
    else if (sent) notify(`The endpoint answered ${sent.status}.`);
  };
  return (
    <section class="webhook" aria-label={webhook.name || webhook.url} data-webhook={id}>
      <header>
        <h2>{webhook.name || webhook.url}</h2>
        <span class={`tag ${TAGS[state]}`}>{state}</span>
        {webhook.answerLinks && <span class="tag">answer links</span>}
        <span class="spring" />
        <button type="button" class="button small" onClick={() => void test()}>
          Test
        </button>
        {state === "paused" ? (
          <button type="button" class="button small" onClick={() => void attempt(() => replayWebhook(id), "It continues where it stopped.")}>
            Continue
          </button>
        ) : (
          <button type="button" class="button small" onClick={() => void attempt(() => pauseWebhook(id))}>
            Pause
          </button>
        )}
        <button type="button" class="button small" onClick={onRemove}>
          Remove…
        </button>
      </header>
      <p class="about">
        {webhook.url} · {webhook.workspace} · {webhook.events.join(", ")}
      </p>
      {webhook.pausedAt && (
        <p class="verdict problem" role="status">
          Paused {ago(webhook.pausedAt, now.value)}. {webhook.pauseReason}
        </p>
      )}
      {deliveries && !deliveries.length && <p class="about">Nothing was delivered yet.</p>}
      {deliveries && deliveries.length > 0 && (
        <table class="records" aria-label={`Deliveries to ${webhook.name || webhook.url}`}>
          <thead>
            <tr>
              <th>Time</th>
              <th>Event</th>
              <th>Session</th>
              <th>Attempts</th>
              <th>Result</th>
              <th>
                <span class="hidden">Send again</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map((delivery) => (
              <Row key={delivery.messageId} of={delivery} onReplay={(after) => void attempt(() => replayWebhook(id, after), "Everything after it is sent again.")} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Row({ of: delivery, onReplay }: { of: Delivery; onReplay: (after: string) => void }) {
  const { cursor, error } = delivery;
  return (
    <tr>
      <td title={new Date(delivery.at).toLocaleString()}>{ago(delivery.at, now.value)}</td>
      <td title={delivery.messageId}>
        <code>{delivery.type}</code>
      </td>
      <td class="long">{delivery.sessionId && <a href={sessionHref(delivery.sessionId)}>{delivery.sessionId}</a>}</td>
      <td>{delivery.attempts}</td>
      <td class="long">
        <span class={`tag ${error ? "failed" : "good"}`}>{delivery.status ?? "no answer"}</span> {error || `${delivery.durationMs} ms`}
      </td>
      <td>
        {cursor && (
          <button type="button" class="button small" title={`Send again everything after ${cursor}`} onClick={() => onReplay(cursor)}>
            Send again after this
          </button>
        )}
      </td>
    </tr>
  );
}

function Remove({ of: webhook, onClose }: { of: Webhook; onClose: () => void }) {
  const act = () => {
    onClose();
    void attempt(() => removeWebhook(webhook.webhookId), `Removed “${webhook.name || webhook.url}”.`);
  };
  return (
    <Dialog title={`Remove “${webhook.name || webhook.url}”?`} onClose={onClose}>
      <p>It gets nothing any more, and its links for answers stop working. This cannot be undone.</p>
      <footer>
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="button danger" onClick={act}>
          Remove
        </button>
      </footer>
    </Dialog>
  );
}
