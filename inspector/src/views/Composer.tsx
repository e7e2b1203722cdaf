/** Where messages are written: with files, queued or steered while a turn runs; and what the agent runs with. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Attachment, QueuedMessage, Session, SendMessage } from "../api/types";
import { call } from "../api/client";
import type { Conversation } from "../state/conversation";
import { agentNamed, agents } from "../state/agents";
import { may } from "../state/identity";
import { attempt, notify } from "../state/notices";
import { go } from "../state/route";
import { forkSession, stopTurn, unsent } from "../state/sessions";
import { basename, bytes, plural } from "../text/format";
import { FormFault, useFault } from "../parts/Fault";
import { Icon } from "../parts/Icon";
import { Settings } from "./Settings";

const LARGEST = 20_000_000;
const QUEUE_MS = 2000;
const SHOWN = 5;
const drafts = new Map<string, string>();

interface Chosen extends Attachment {
  size: number;
}

export function Composer({ session, conversation, onSent }: { session: Session; conversation: Conversation; onSent: () => void }) {
  const id = session.sessionId;
  agents.value;
  const can = agentNamed(session.agent)?.capabilities;
  const [text, setText] = useState(drafts.get(id) ?? "");
  const [files, setFiles] = useState<Chosen[]>([]);
  const [dropping, setDropping] = useState(false);
  const [fault, run] = useFault();
  const area = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const working = session.status === "running" || session.status === "waiting";
  const takesFiles = !!(can?.images || can?.fileAttachments);

  useEffect(() => {
    drafts.set(id, text);
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight + 2, 240)}px`;
  }, [text]);

  useEffect(() => {
    void conversation.loadQueue();
    if (!working) return;
    const timer = setInterval(() => void conversation.loadQueue(), QUEUE_MS);
    return () => clearInterval(timer);
  }, [conversation, working]);

  /** Messages that were not sent, before what is written already. */
  const takeBack = (texts: string[]) => {
    setText((now) => [...texts, now].filter((each) => each.trim()).join("\n\n"));
    area.current?.focus();
  };

  const back = unsent.value?.id === id ? unsent.value.messages : null;
  useEffect(() => {
    if (!back) return;
    unsent.value = null;
    void conversation.loadQueue();
    takeBack(back.map((message) => message.message));
    const kept = back.flatMap((message) => message.attachments ?? []);
    setFiles((before) => [...kept.map((file) => ({ ...file, size: sizeOf(file) })), ...before]);
  }, [back]);

  if (!may("run")) return <p class="composer-closed muted">Your key may read this session, but not send messages.</p>;
  if (session.ended) {
    const fork = async () => {
      const made = await attempt(() => forkSession(id), "Forked: this is the new session.");
      if (made) go({ view: "session", id: made.sessionId, tab: "conversation", at: null });
    };
    return (
      <p class="composer-closed muted">
        This session has ended.
        <button type="button" class="button small" onClick={fork}>
          Fork it to go on
        </button>
      </p>
    );
  }

  const add = async (list: Iterable<File>) => {
    // A FileList is live: it empties when its input is cleared, before the first file was read.
    for (const file of [...list]) {
      if (file.size > LARGEST) notify(`${file.name} is larger than ${bytes(LARGEST)}. Give the agent its path instead.`, "error");
      else {
        const data = await base64(file);
        setFiles((before) => [...before, { data, mime: file.type || null, filename: file.name || "pasted", size: file.size }]);
      }
    }
  };
  const send = async (delivery: "queue" | "steer") => {
    const message = text.trim();
    if (!message && !files.length) return;
    const body: SendMessage = { message, delivery, attachments: files.map(({ size: _, ...file }) => file) };
    const response = await run(() => call("POST", `v1/sessions/${encodeURIComponent(id)}/messages`, undefined, body));
    if (!response) return;
    void conversation.loadQueue();
    setText("");
    setFiles([]);
    onSent();
  };
  const withdraw = async (message: QueuedMessage) => {
    const gone = await run(() => conversation.withdraw(message.itemId).then(() => true));
    void conversation.loadQueue();
    return gone;
  };
  const edit = async (message: QueuedMessage) => {
    if (await withdraw(message)) takeBack([message.message]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void send(event.ctrlKey && working && can?.steering ? "steer" : "queue");
  };
  const queue = conversation.queue.value;
  return (
    <div
      class={`composer ${dropping ? "dropping" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(takesFiles);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        if (takesFiles) void add(event.dataTransfer?.files ?? []);
      }}
    >
      {queue.length > 0 && (
        <div class="queue" role="status">
          <Icon name="clock" />
          <span>{plural(queue.length, "message")} waiting for the turn to end</span>
          <ol>
            {queue.slice(0, SHOWN).map((message) => (
              <li key={message.itemId} title={message.message}>
                <span>
                  {message.message || "(no text)"} {message.attachments > 0 && <small>with {plural(message.attachments, "file")}</small>}
                </span>
                {message.attachments === 0 && (
                  <button type="button" class="icon-button" aria-label={`Edit “${message.message}”`} title="Take it back and edit it" onClick={() => edit(message)}>
                    <Icon name="edit" />
                  </button>
                )}
                <button type="button" class="icon-button" aria-label={`Do not send “${message.message}”`} title="Do not send it" onClick={() => withdraw(message)}>
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ol>
          {queue.length > SHOWN && <span>and {queue.length - SHOWN} more</span>}
        </div>
      )}
      {files.length > 0 && (
        <ul class="files" aria-label="Attachments">
          {files.map((file, index) => (
            <li key={index}>
              <Icon name="file" /> {nameOf(file)} {file.size > 0 && <small>{bytes(file.size)}</small>}
              <button type="button" class="icon-button" aria-label={`Remove ${nameOf(file)}`} onClick={() => setFiles(files.filter((_, at) => at !== index))}>
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <FormFault of={fault} />
      <textarea
        id="composer"
        ref={area}
        rows={1}
        aria-label="Message"
        placeholder={working ? "Write the next message; it waits for its turn" : "Write a message"}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (!pasted.length || !takesFiles) return;
          event.preventDefault();
          void add(pasted);
        }}
      />
      <div class="composer-row">
        {takesFiles && (
          <>
            <button type="button" class="icon-button" aria-label="Attach files" title="Attach files" onClick={() => chooser.current?.click()}>
              <Icon name="clip" />
            </button>
            <input
              ref={chooser}
              type="file"
              multiple
              class="hidden"
              tabIndex={-1}
              aria-label="Files to attach"
              onChange={(event) => {
                void add(event.currentTarget.files ?? []);
                event.currentTarget.value = "";
              }}
            />
          </>
        )}
        <Settings session={session} />
        <span class="spring" />
        {working && (
          <button type="button" class="button" title="Stop the running turn (Ctrl .)" onClick={() => run(() => stopTurn(id))}>
            <Icon name="stop" /> Stop
          </button>
        )}
        {working && can?.steering && (
          <button type="button" class="button" disabled={!text.trim()} title="Into the running turn (Ctrl Enter)" onClick={() => send("steer")}>
            <Icon name="bolt" /> Steer
          </button>
        )}
        <button type="button" class="button primary" disabled={!text.trim() && !files.length} onClick={() => send("queue")}>
          <Icon name="send" /> {working ? "Queue" : "Send"}
        </button>
      </div>
    </div>
  );
}

function nameOf(file: Attachment): string {
  return file.filename ?? basename(file.path ?? "file");
}

function sizeOf(file: Attachment): number {
  return Math.floor(((file.data?.length ?? 0) * 3) / 4);
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
