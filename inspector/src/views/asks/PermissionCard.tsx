import { useState } from "preact/hooks";
import type { Permission, PermissionReply } from "../../api/types";
import { replyToPermission } from "../../state/asks";
import { may } from "../../state/identity";
import { FormFault, useFault } from "../../parts/Fault";
import { Icon } from "../../parts/Icon";
import { Json } from "../../parts/Json";
import { ToolInput } from "../entries/ToolInput";
import { NotMine, Refusal } from "./Refusal";

const WORDS: Record<PermissionReply, string> = { once: "Allow once", always: "Allow always", reject: "Reject" };
const KEYS: Record<PermissionReply, string> = { once: "y", always: "⇧Y", reject: "x" };

export function PermissionCard({ id, session, request, resolved }: { id: string; session: string; request: Permission; resolved: Permission | null }) {
  const [rejecting, setRejecting] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, run] = useFault();
  if (resolved) {
    const approved = resolved.status === "approved";
    return (
      <p class={`aside answered ${approved ? "" : "failed"}`}>
        <Icon name={approved ? "check" : "close"} />
        <span>
          {approved ? (resolved.reply === "always" ? "Allowed, always" : "Allowed") : "Rejected"}: <code>{request.action}</code>
        </span>
        {resolved.message && <span>{resolved.message}</span>}
      </p>
    );
  }
  const reply = async (choice: PermissionReply, message?: string) => {
    setBusy(true);
    await run(() => replyToPermission(session, id, choice, message));
    setBusy(false);
  };
  const options = request.options?.length ? request.options : (["once", "reject"] as PermissionReply[]);
  return (
    <section class="ask" data-ask={id} aria-label={`Permission wanted: ${request.action}`}>
      <header>
        <Icon name="bell" />
        <strong>May it do this?</strong>
        <code>{request.tool && request.input ? request.tool : request.action}</code>
      </header>
      <ToolInput name={request.tool ?? request.action} input={request.input} />
      {request.suggestions && request.suggestions.length > 0 && options.includes("always") && (
        <details>
          <summary>What “always” will allow</summary>
          <Json value={request.suggestions} label="Rules that would be kept" />
        </details>
      )}
      <FormFault of={fault} />
      {!may("answer") ? (
        <NotMine />
      ) : rejecting ? (
        <Refusal word={WORDS.reject} busy={busy} onRefuse={(reason) => void reply("reject", reason)} onBack={() => setRejecting(false)} />
      ) : (
        <div class="answers">
          {options.map((each) => (
            <button type="button" key={each} data-reply={each} class={`button ${each === "once" ? "primary" : ""}`} disabled={busy} onClick={() => (each === "reject" ? setRejecting(true) : void reply(each))}>
              {WORDS[each]} <kbd>{KEYS[each]}</kbd>
            </button>
          ))}
        </div>
      )}
    </section>
  );
}
