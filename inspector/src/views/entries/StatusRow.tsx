import type { StatusEntry } from "../../transcript/entry";

export function StatusRow({ entry }: { entry: StatusEntry }) {
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
