/** Names for the shapes of our OpenAPI document; `schema.d.ts` is generated from it. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Event = Schemas["Event"];
export type EventType = Event["type"];
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;
export type Item = Schemas["Item"];
export type Part = Item["content"][number];
export type PartOf<T extends Part["type"]> = Extract<Part, { type: T }>;
export type Session = Schemas["SessionInfo"];
export type Status = Session["status"];
export type Ask = Schemas["AskInfo"];
export type Agent = Schemas["AgentInfo"];
export type Models = Schemas["ModelList"];
export type Modes = Schemas["ModeList"];
export type Hit = Schemas["SearchHit"];
export type Problem = Schemas["Problem"];
export type Permission = Schemas["PermissionRequested"];
export type Questions = Schemas["QuestionRequested"];
export type CustomTool = Schemas["ToolRequested"];
export type PermissionReply = Schemas["ReplyToPermission"]["reply"];
export type CreateSession = Schemas["CreateSessionRequest"];
export type UpdateSession = Schemas["UpdateSession"];
export type SendMessage = Schemas["SendMessage"];
export type QueuedMessage = Schemas["QueuedMessage"];
export type Attachment = Schemas["Attachment"];
export type Identity = Schemas["Identity"];
export type Scope = Identity["scopes"][number];
export type Key = Schemas["KeyInfo"];
export type NewKey = Schemas["NewKey"];
export type CreateKey = Schemas["CreateKey"];
export type Webhook = Schemas["WebhookInfo"];
export type Delivery = Schemas["Delivery"];
export type AuditEntry = Schemas["AuditItem"];
export type AuditState = Schemas["AuditState"];
export type Stderr = Schemas["StderrOutput"];
