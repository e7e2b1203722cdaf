/** One entry of a conversation, drawn again only when it changed. */
import { Component } from "preact";
import type { Session } from "../../api/types";
import type { Entry, MessageEntry } from "../../transcript/entry";
import type { Transcript } from "../../transcript/transcript";
import { AskCard } from "../asks/AskCard";
import { ErrorRow } from "./ErrorRow";
import { MessageRow } from "./MessageRow";
import { NoteRow } from "./NoteRow";
import { PlanRow } from "./PlanRow";
import { StatusRow } from "./StatusRow";
import { ToolRow } from "./ToolRow";
import { TurnRow } from "./TurnRow";

interface Props {
  entry: Entry;
  transcript: Transcript;
  session: Session;
  highlighted?: boolean;
}

export class EntryRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    return next.entry !== this.props.entry || next.highlighted !== this.props.highlighted || next.session.status !== this.props.session.status;
  }

  override render({ entry, transcript, session, highlighted }: Props) {
    return (
      <div class={`entry entry-${entry.kind}${highlighted ? " highlighted" : ""}`} data-entry={entry.key} data-sequence={entry.sequence}>
        <Body entry={entry} transcript={transcript} session={session} />
      </div>
    );
  }
}

/** A message that only carried calls, which are shown themselves. */
function isSilent(entry: MessageEntry): boolean {
  return entry.status === "completed" && !entry.error && entry.parts.every((part) => "text" in part && !part.text);
}

function Body({ entry, transcript, session }: Props) {
  const id = session.sessionId;
  switch (entry.kind) {
    case "message":
      return isSilent(entry) ? null : <MessageRow entry={entry} session={id} />;
    case "tool":
      return <ToolRow entry={entry} transcript={transcript} session={session} />;
    case "plan":
      return <PlanRow todos={entry.todos} />;
    case "status":
      return <StatusRow entry={entry} />;
    case "ask":
      return <AskCard ask={entry.ask} id={entry.id} session={id} request={entry.request} resolved={entry.resolved} />;
    case "error":
      return <ErrorRow entry={entry} />;
    case "turn":
      return <TurnRow entry={entry} session={id} />;
    case "note":
      return <NoteRow event={entry.event} />;
  }
}
