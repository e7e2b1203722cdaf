import { useState } from "preact/hooks";
import { may } from "../../state/identity";
import type { TurnEntry } from "../../transcript/entry";
import { sessionHref } from "../../state/route";
import { RewindDialog } from "../RewindDialog";
import { count, duration, money, tokenParts, tokensOf } from "../../text/format";

export const REASONS: Record<TurnEntry["data"]["stop_reason"], string> = {
  end_turn: "Done",
  interrupted: "Stopped",
  error: "Ended in an error",
  max_turns: "Reached the limit of turns",
  max_tokens: "Reached the limit of tokens",
  refusal: "Refused",
  budget: "Reached the budget",
  terminated: "Terminated",
};

export function TurnRow({ entry, session }: { entry: TurnEntry; session: string }) {
  const { stop_reason, usage, cost_usd, error } = entry.data;
  const [rewinding, setRewinding] = useState(false);
  const tokens = usage ? tokensOf(usage) : 0;
  const facts = [
    entry.started && duration(Date.parse(entry.time) - Date.parse(entry.started)),
    tokens > 0 && `${count(tokens)} tokens`,
    cost_usd && money(cost_usd),
  ].filter(Boolean);
  return (
    <>
      <div class={`turn-end ${stop_reason === "end_turn" ? "" : "notable"}`}>
        <span title={error ?? (usage ? tokenParts(usage) : undefined)}>
          {REASONS[stop_reason] ?? stop_reason}
          {facts.length > 0 && ` · ${facts.join(" · ")}`}
        </span>
        <a href={sessionHref(session, "timeline", entry.sequence)}>Timeline</a>
        {may("run") && (
          <button type="button" onClick={() => setRewinding(true)}>
            Rewind…
          </button>
        )}
      </div>
      {rewinding && <RewindDialog id={session} sequence={entry.sequence} onClose={() => setRewinding(false)} />}
    </>
  );
}
