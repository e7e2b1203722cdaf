/** Brings back the files and the conversation as they were after a turn. Shows first which files that changes. */
import { useEffect, useState } from "preact/hooks";
import type { RewindSession } from "../api/types";
import { notify } from "../state/notices";
import { rewindSession, sessions } from "../state/sessions";
import { plural } from "../text/format";
import { Dialog } from "../parts/Dialog";
import { FormFault, useFault } from "../parts/Fault";

type Restored = NonNullable<RewindSession["restore"]>;

const CHOICES: [Restored, string][] = [
  ["both", "Files and conversation"],
  ["files", "Files"],
  ["conversation", "Conversation"],
];

export function RewindDialog({ id, sequence, onClose }: { id: string; sequence: number; onClose: () => void }) {
  const session = sessions.value.get(id);
  const [restore, setRestore] = useState<Restored>(session?.ended ? "files" : session?.checkpoints ? "both" : "conversation");
  const [files, setFiles] = useState<string[] | null>(null);
  const [fault, run] = useFault();
  const possible = (choice: Restored) => (choice === "conversation" || session?.checkpoints) && (choice === "files" || !session?.ended);
  useEffect(() => {
    let current = true;
    setFiles(null);
    void run(() => rewindSession(id, { sequence, restore, dryRun: true })).then((planned) => current && setFiles(planned?.files ?? null));
    return () => void (current = false);
  }, [restore]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const done = await run(() => rewindSession(id, { sequence, restore }));
    if (!done) return setFiles(null);
    notify(`Rewound to event ${done.sequence}.`);
    onClose();
  };
  return (
    <Dialog title="Rewind to the end of this turn" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <fieldset>
          <legend>Bring back</legend>
          {CHOICES.map(([choice, label]) => (
            <label class="choice" key={choice}>
              <input type="radio" name="restore" disabled={!possible(choice)} checked={restore === choice} onChange={() => setRestore(choice)} />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
        {!session?.checkpoints && <p class="muted">The files of this session were not kept. A session with <code>checkpoints</code> keeps them before and after each turn.</p>}
        {restore !== "conversation" && files && (
          <div>
            <p>{files.length ? `${plural(files.length, "file")} will be changed or removed:` : "No file has to be changed."}</p>
            <ul class="files long">
              {files.map((file) => (
                <li key={file}>
                  <code>{file}</code>
                </li>
              ))}
            </ul>
          </div>
        )}
        {restore !== "files" && <p class="muted">The agent begins again, and does not know what was said after this turn. No event is deleted.</p>}
        <FormFault of={fault} />
        <footer>
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={!files}>
            Rewind
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
