/** What went wrong, when it is tried again, and what a dead agent left on its stderr. */
import { useEffect, useState } from "preact/hooks";
import type { Stderr } from "../../api/types";
import type { ErrorEntry } from "../../transcript/entry";
import { Icon } from "../../parts/Icon";
import { Json } from "../../parts/Json";
import { Output } from "../../parts/Output";

export function ErrorRow({ entry }: { entry: ErrorEntry }) {
  const { data } = entry;
  return (
    <section class={`error-box ${data.retry ? "retrying" : ""}`} aria-label="Error">
      <header>
        <Icon name="warning" />
        <strong>{data.message}</strong>
        <span class="tags">
          {data.code && <span class="tag failed">{data.code}</span>}
          {data.exit_code != null && <span class="tag failed">exit {data.exit_code}</span>}
        </span>
      </header>
      {data.retry && (
        <p>
          Attempt {data.retry.attempt}
          {data.retry.max ? ` of ${data.retry.max}` : ""}: {entry.past ? "tried again" : <Countdown until={Date.parse(entry.time) + data.retry.delay_ms} />}
        </p>
      )}
      {data.stderr && <StderrView stderr={data.stderr} />}
      {data.details && Object.keys(data.details).length > 0 && <Json value={data.details} label="Details of the error" />}
    </section>
  );
}

function Countdown({ until }: { until: number }) {
  const [left, setLeft] = useState(until - Date.now());
  useEffect(() => {
    const timer = setInterval(() => setLeft(until - Date.now()), 200);
    return () => clearInterval(timer);
  }, [until]);
  return <span role="timer">{left > 0 ? `tries again in ${Math.ceil(left / 1000)} s` : "trying again…"}</span>;
}

export function StderrView({ stderr }: { stderr: Stderr }) {
  const omitted = stderr.truncated ? "\n… (left out) …\n" : "";
  const text = [stderr.head, stderr.tail].filter(Boolean).join(omitted || "\n");
  return text ? <Output text={text} label="Standard error of the agent" /> : null;
}
