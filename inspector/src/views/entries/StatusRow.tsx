import type { StatusEntry } from "../../transcript/entry";
import { Markdown } from "../../parts/Markdown";

export function StatusRow({ entry }: { entry: StatusEntry }) {
  const [first] = entry.parts;
  if (first?.detail?.includes("\n")) {
    return (
      <section class="plan" aria-label={first.label}>
        <header>
          <strong>{first.label}</strong>
        </header>
        <Markdown text={first.detail} />
      </section>
    );
  }
  return (
    <p class={`aside ${entry.failed ? "failed" : ""}`}>
      {entry.parts.map((part, index) => (
        <span key={index}>
          <strong>{part.label}</strong> {part.detail}
        </span>
      ))}
    </p>
  );
}
