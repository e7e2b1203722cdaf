import type { Session } from "../api/types";

export const STATUS_WORDS: Record<Session["status"], string> = {
  idle: "Idle",
  running: "Running",
  waiting: "Waiting for you",
  hibernated: "Asleep",
  ended: "Ended",
};

export function StatusDot({ status }: { status: Session["status"] }) {
  return <span class={`dot ${status}`} role="img" aria-label={STATUS_WORDS[status]} title={STATUS_WORDS[status]} />;
}

export function StatusPill({ status }: { status: Session["status"] }) {
  return (
    <span class={`pill ${status}`}>
      <span class={`dot ${status}`} aria-hidden="true" />
      {STATUS_WORDS[status]}
    </span>
  );
}
