/** Names for the shapes of the OpenAPI document; `schema.ts` is generated from it. */
import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Event = Schemas["Event"];
export type EventType = Event["type"];
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;
export type Item = Schemas["Item"];
export type Usage = Schemas["Usage"];
export type SessionInfo = Schemas["SessionInfo"];
export type SessionStatus = SessionInfo["status"];
export type AskInfo = Schemas["AskInfo"];
export type AgentInfo = Schemas["AgentInfo"];
export type Problem = Schemas["Problem"];
export type CreateSession = Schemas["CreateSessionRequest"];
export type UpdateSession = Schemas["UpdateSession"];
export type SendMessage = Schemas["SendMessage"];
export type Attachment = Schemas["Attachment"];
export type PermissionReply = Schemas["ReplyToPermission"];
export type ToolReply = Schemas["ReplyToTool"];
export type WorktreeState = Schemas["WorktreeState"];
export type MergeWorktree = Schemas["MergeWorktree"];
export type MergedWorktree = Schemas["MergedWorktree"];
export type RewindSession = Schemas["RewindSession"];
export type RewoundSession = Schemas["RewoundSession"];
export type StopReason = Schemas["TurnEnded"]["stop_reason"];
