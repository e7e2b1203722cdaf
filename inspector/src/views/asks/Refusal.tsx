import { useLayoutEffect, useRef } from "preact/hooks";

/** In place of the buttons, for a key that may not answer. */
export function NotMine() {
  return <p class="muted">Your key may not answer this. Somebody with the scope answer can.</p>;
}

/** Why not: the agent reads it. Has the focus as soon as it is there, so that what is typed next is the reason. */
export function Refusal({ word, busy, onRefuse, onBack }: { word: string; busy: boolean; onRefuse: (reason: string) => void; onBack: () => void }) {
  const reason = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => reason.current?.focus(), []);
  const refuse = () => onRefuse(reason.current?.value.trim() ?? "");
  return (
    <div class="answers">
      <input
        ref={reason}
        aria-label="Why not"
        placeholder="Why not? The agent reads this; may be empty"
        onKeyDown={(event) => {
          if (event.key === "Escape") onBack();
          if (event.key !== "Enter") return;
          event.preventDefault();
          refuse();
        }}
      />
      <button type="button" class="button danger" disabled={busy} onClick={refuse}>
        {word}
      </button>
      <button type="button" class="button" onClick={onBack}>
        Back
      </button>
    </div>
  );
}
