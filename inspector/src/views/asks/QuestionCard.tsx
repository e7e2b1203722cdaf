import { useState } from "preact/hooks";
import type { Questions } from "../../api/types";
import { rejectQuestion, replyToQuestion } from "../../state/asks";
import { may } from "../../state/identity";
import { FormFault, useFault } from "../../parts/Fault";
import { Icon } from "../../parts/Icon";
import { Markdown } from "../../parts/Markdown";
import { NotMine, Refusal } from "./Refusal";

export function QuestionCard({ id, session, request, resolved }: { id: string; session: string; request: Questions; resolved: Questions | null }) {
  const questions: NonNullable<Questions["questions"]> = request.questions?.length
    ? request.questions
    : [{ prompt: request.prompt, options: request.options.map((label) => ({ label })), multi_select: false }];
  const [chosen, setChosen] = useState<string[][]>(questions.map(() => []));
  const [free, setFree] = useState<string[]>(questions.map(() => ""));
  const [busy, setBusy] = useState(false);
  const [fault, run] = useFault();
  const [refusing, setRefusing] = useState(false);
  if (resolved) {
    const answers = resolved.answers?.map((each) => each.join(", ")).join("; ");
    return (
      <p class={`aside answered ${resolved.status === "answered" ? "" : "failed"}`}>
        <Icon name={resolved.status === "answered" ? "check" : "close"} />
        <span>
          {questions[0]?.header ?? "Question"}: <strong>{answers || resolved.response || "not answered"}</strong>
        </span>
        {resolved.message && <span>{resolved.message}</span>}
      </p>
    );
  }
  const answers = questions.map((_, n) => [...(chosen[n] ?? []), ...(free[n]?.trim() ? [free[n].trim()] : [])]);
  const toggle = (n: number, label: string, many: boolean) => {
    const before = chosen[n] ?? [];
    const after = !many ? [label] : before.includes(label) ? before.filter((each) => each !== label) : [...before, label];
    setChosen(chosen.map((each, at) => (at === n ? after : each)));
    if (!many) setFree(free.map((each, at) => (at === n ? "" : each)));
  };
  const write = (n: number, text: string, many: boolean) => {
    setFree(free.map((each, at) => (at === n ? text : each)));
    if (!many && text) setChosen(chosen.map((each, at) => (at === n ? [] : each)));
  };
  const act = async (work: () => Promise<void>) => {
    setBusy(true);
    await run(work);
    setBusy(false);
  };
  const before = (n: number) => questions.slice(0, n).reduce((sum, each) => sum + (each.options?.length ?? 0), 0);
  const complete = answers.every((each, n) => each.length > 0 || questions[n]?.multi_select);
  return (
    <form
      class="ask"
      data-ask={id}
      aria-label="The agent asks"
      onSubmit={(event) => {
        event.preventDefault();
        void act(() => replyToQuestion(session, id, answers));
      }}
    >
      {questions.map((question, n) => (
        <fieldset key={n} disabled={!may("answer")}>
          <legend>
            {n === 0 && <Icon name="bell" />} {question.header ?? "Question"}
            {question.multi_select && <span class="muted hint"> · choose any</span>}
          </legend>
          <Markdown text={question.prompt} />
          {question.options?.map((option, at) => (
            <label class="choice" key={option.label}>
              <input
                type={question.multi_select ? "checkbox" : "radio"}
                name={`${id}.${n}`}
                data-option
                checked={chosen[n]?.includes(option.label) ?? false}
                onChange={() => toggle(n, option.label, question.multi_select ?? false)}
              />
              <span>
                {option.label}
                {option.description && <small>{option.description}</small>}
              </span>
              {before(n) + at < 9 && <kbd aria-hidden="true">{before(n) + at + 1}</kbd>}
            </label>
          ))}
          {may("answer") && (
            <input
              class="free"
              aria-label={`Another answer to: ${question.header ?? question.prompt}`}
              placeholder={question.options?.length ? "Or something else" : "Your answer"}
              value={free[n]}
              onInput={(event) => write(n, event.currentTarget.value, question.multi_select ?? false)}
            />
          )}
        </fieldset>
      ))}
      <FormFault of={fault} />
      {!may("answer") ? (
        <NotMine />
      ) : refusing ? (
        <Refusal word="Do not answer" busy={busy} onRefuse={(reason) => void act(() => rejectQuestion(session, id, reason))} onBack={() => setRefusing(false)} />
      ) : (
        <div class="answers">
          <button type="submit" class="button primary" disabled={busy || !complete}>
            Answer <kbd>↵</kbd>
          </button>
          <button type="button" class="button" data-reply="reject" disabled={busy} onClick={() => setRefusing(true)}>
            Do not answer <kbd>x</kbd>
          </button>
        </div>
      )}
    </form>
  );
}
