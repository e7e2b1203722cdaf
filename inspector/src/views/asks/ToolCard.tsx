/** A custom tool that a program should carry out. A person may stand in for it. */
import { useState } from "preact/hooks";
import type { CustomTool } from "../../api/types";
import { replyToTool } from "../../state/asks";
import { may } from "../../state/identity";
import { FormFault, useFault } from "../../parts/Fault";
import { Icon } from "../../parts/Icon";
import { Json } from "../../parts/Json";
import { Output } from "../../parts/Output";
import { NotMine } from "./Refusal";

export function ToolCard({ id, session, request, resolved }: { id: string; session: string; request: CustomTool; resolved: CustomTool | null }) {
  const [output, setOutput] = useState("");
  const [fault, run] = useFault();
  if (resolved) {
    return (
      <div>
        <p class={`aside answered ${resolved.status === "answered" ? "" : "failed"}`}>
          <Icon name={resolved.status === "answered" ? "check" : "close"} />
          <span>
            Custom tool <code>{request.name}</code> {resolved.status}
          </span>
          {resolved.message && <span>{resolved.message}</span>}
        </p>
        {resolved.output && <Output text={resolved.output} />}
      </div>
    );
  }
  const reply = (isError: boolean) => run(() => replyToTool(session, id, output, isError));
  return (
    <form
      class="ask"
      data-ask={id}
      aria-label={`Custom tool ${request.name} is called`}
      onSubmit={(event) => {
        event.preventDefault();
        void reply(false);
      }}
    >
      <header>
        <Icon name="tool" />
        <strong>Your program should carry out</strong>
        <code>{request.name}</code>
      </header>
      <Json value={request.input} label={`Input of ${request.name}`} />
      <FormFault of={fault} />
      {may("answer") ? (
        <>
          <textarea aria-label="Result of the tool" placeholder="Or answer in its place: the result" value={output} onInput={(event) => setOutput(event.currentTarget.value)} />
          <div class="answers">
            <button type="submit" class="button primary">
              Send result
            </button>
            <button type="button" class="button" data-reply="reject" onClick={() => reply(true)}>
              It failed <kbd>x</kbd>
            </button>
          </div>
        </>
      ) : (
        <NotMine />
      )}
    </form>
  );
}
