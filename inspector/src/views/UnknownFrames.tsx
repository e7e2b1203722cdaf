import { useState } from "preact/hooks";
import { get } from "../api/client";
import type { Agent } from "../api/types";
import { attempt } from "../state/notices";
import { sessionHref } from "../state/route";
import { plural } from "../text/format";

interface Sample {
  sessionId: string;
  sequence: number;
  time: string;
  error: string;
  frame: string;
}

export function UnknownFrames({ agent }: { agent: Agent }) {
  const [samples, setSamples] = useState<Sample[] | null>(null);
  const load = async () => {
    const found = await attempt(() => get<{ frames: Sample[] }>(`v1/agents/${encodeURIComponent(agent.id)}/unknown-frames`));
    if (found) setSamples(found.frames);
  };
  return (
    <details onToggle={(event) => event.currentTarget.open && void load()}>
      <summary>
        <span class="tag warn">{plural(agent.unknownFrames, "frame")}</span> show samples
      </summary>
      {samples?.map((sample) => (
        <div class="sample" key={`${sample.sessionId}.${sample.sequence}`}>
          <p>
            <a href={sessionHref(sample.sessionId, "events", sample.sequence)}>#{sample.sequence}</a> {sample.error}
          </p>
          <pre tabIndex={0} aria-label="Sample of an unknown frame">
            {sample.frame}
          </pre>
          <p>
            Make a test of it: <code>everyagent sessions export {sample.sessionId} --format case</code>
          </p>
        </div>
      ))}
    </details>
  );
}
