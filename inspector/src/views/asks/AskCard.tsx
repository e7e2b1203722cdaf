/** What an agent wants to know, and the buttons that tell it. */
import type { CustomTool, Permission, Questions } from "../../api/types";
import type { AskEntry } from "../../transcript/entry";
import { PermissionCard } from "./PermissionCard";
import { QuestionCard } from "./QuestionCard";
import { ToolCard } from "./ToolCard";

interface Props {
  ask: AskEntry["ask"];
  id: string;
  session: string;
  request: AskEntry["request"];
  resolved: AskEntry["resolved"];
}

export function AskCard({ ask, id, session, request, resolved }: Props) {
  switch (ask) {
    case "permission":
      return <PermissionCard id={id} session={session} request={request as Permission} resolved={resolved as Permission | null} />;
    case "question":
      return <QuestionCard id={id} session={session} request={request as Questions} resolved={resolved as Questions | null} />;
    case "tool":
      return <ToolCard id={id} session={session} request={request as CustomTool} resolved={resolved as CustomTool | null} />;
  }
}
