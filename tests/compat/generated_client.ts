// Calls with the types that openapi-typescript made: optional fields are left out. Run by test_generators.py.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Event = components["schemas"]["Event"];
const { URL: baseUrl, TOKEN, DIRECTORY } = process.env as Record<string, string>;
const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${TOKEN}` } });

function found<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const created = found(await client.POST("/v1/sessions", { body: { agent: "mock", directory: DIRECTORY } }));
const healthy: boolean = created.healthy ?? false;
if (!healthy) throw new Error("not healthy");
const path = { session_id: created.sessionId };
const listed = found(await client.GET("/v1/sessions", { params: { query: { limit: 10 } } }));
if (!listed.sessions.some((each) => each.sessionId === created.sessionId)) throw new Error("not listed");

await client.POST("/v1/sessions/{session_id}/messages", { params: { path }, body: { message: "hello" } });
const turn = await client.POST("/v1/sessions/{session_id}/messages/stream", {
  params: { path }, body: { message: "again" }, parseAs: "text",
});
if (!String(turn.data).includes("turn.ended")) throw new Error("no turn");
const page = found(await client.GET("/v1/sessions/{session_id}/events", { params: { path, query: { limit: 500 } } }));
const types = page.events.map((event: Event) => event.type);
if (types.filter((each) => each === "turn.ended").length !== 2) throw new Error(types.join());

const query = { path: "a.txt", sessionId: created.sessionId };
const written = await client.PUT("/v1/fs/file", {
  params: { query }, body: "text", bodySerializer: (body) => body as string,
  headers: { "content-type": "application/octet-stream" },
});
if (found(written).bytesWritten !== 4) throw new Error("not written");
const missing = await client.GET("/v1/sessions/{session_id}", { params: { path: { session_id: "none" } } });
if (missing.error?.code !== "session_not_found") throw new Error("no problem");
