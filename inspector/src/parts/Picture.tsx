/** An image of an item: its bytes come with the event, or from the daemon. Never from elsewhere. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { PartOf } from "../api/types";
import { basename } from "../text/format";
import { Icon } from "./Icon";

const SAFE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;

export function Picture({ part, session, told, index }: { part: PartOf<"image">; session: string; told: number; index: number }) {
  const [source, setSource] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let url: string | null = null;
    call("GET", `v1/sessions/${encodeURIComponent(session)}/image`, { sequence: told, part: index }, undefined, abort.signal)
      .then(async (response) => {
        const blob = await response.blob();
        if (!SAFE.test(blob.type)) throw new Error(`${blob.type} is not shown.`);
        setSource((url = URL.createObjectURL(blob)));
      })
      .catch((error: Error) => !abort.signal.aborted && setProblem(error.message));
    return () => {
      abort.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [session, told, index]);
  const name = basename(part.path);
  if (problem) {
    return (
      <span class="attachment" title={problem}>
        <Icon name="file" /> {name}
      </span>
    );
  }
  return source ? <img class="picture" src={source} alt={`Image: ${name}`} /> : <span class="picture placeholder" />;
}
