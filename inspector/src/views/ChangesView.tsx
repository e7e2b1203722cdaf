/** All edits of a session, by file. */
import { useEffect, useState } from "preact/hooks";
import type { Session } from "../api/types";
import { type ChangedFile, type Work, workOf } from "../state/changes";
import { lastEvents } from "../state/live";
import { attempt } from "../state/notices";
import { sessionHref } from "../state/route";
import { counts, parseDiff } from "../text/diff";
import { clock, plural } from "../text/format";
import { Diff } from "../parts/Diff";

export function ChangesView({ session }: { session: Session }) {
  const id = session.sessionId;
  const [work, setWork] = useState<Work | null>(null);
  const moved = lastEvents.value.some((event) => event.session_id === id && event.type === "turn.ended") ? session.eventCount : 0;
  useEffect(() => void attempt(() => workOf(id)).then((found) => found && setWork(found)), [id, moved]);
  if (!work) return <div class="empty" aria-busy="true" />;
  if (!work.files.length) {
    return (
      <div class="empty">
        <h2>No file was edited</h2>
        <p>Edits that the agent reports are listed here. What its commands change is not.</p>
      </div>
    );
  }
  return (
    <div class="scroller page-body changes" tabIndex={0}>
      <p class="about">{totals(work.files)}. What the agent's commands changed is not among them.</p>
      <Files session={session} files={work.files} />
    </div>
  );
}

/** `2 files, 3 edits, +10 −4`. */
export function totals(files: ChangedFile[]): string {
  const changes = files.flatMap((file) => file.changes);
  const { added, removed } = counts(changes.flatMap((change) => parseDiff(change.diff)));
  return `${plural(files.length, "file")}, ${plural(changes.length, "edit")}, +${added} −${removed}`;
}

/** Paths in the session's directory are relative to it. */
function shortened(path: string, directory: string | null): string {
  return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

export function Files({ session, files }: { session: Session; files: ChangedFile[] }) {
  return (
    <>
      {files.map((file) => (
        <section key={file.path} class="changed-file" aria-label={shortened(file.path, session.directory)}>
          {file.changes.map((change) => (
            <div key={change.sequence}>
              <a class="muted" href={sessionHref(session.sessionId, "conversation", change.sequence)}>
                {clock(change.time)}
              </a>
              <Diff text={change.diff} path={shortened(file.path, session.directory)} />
            </div>
          ))}
        </section>
      ))}
    </>
  );
}
