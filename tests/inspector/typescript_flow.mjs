// A program that uses the TypeScript client on Node. It prints "kill" when the daemon is to be killed and started again.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { ApiError, Client, textOf, Unreachable } from "./dist/index.js";

const { DAEMON, TOKEN, DIRECTORY } = process.env;
const client = new Client({ baseUrl: DAEMON, token: TOKEN });
const mock = { agent: "mock", directory: DIRECTORY };

// Text as it comes, without the user's own words, and the turn at the end.
const session = await client.create(mock, "typescript");
const texts = [];
const stream = session.streamText("[subagent command=pwd] [text words=20]");
let next;
while (!(next = await stream.next()).done) texts.push(next.value);
assert.ok(texts.length > 1);
assert.ok(texts.join("").endsWith(next.value.text) && !texts.join("").includes("[subagent"));
for (const item of next.value.items.filter((item) => item.subagent && textOf(item))) assert.ok(!texts.join("").includes(textOf(item)));
assert.equal(next.value.stopReason, "end_turn");
assert.ok(next.value.usage.output_tokens > 0);

// Asks are answered by a function.
const asked = [];
const turn = await session.run("[ask] [question]", {
  answer: (ask) => {
    asked.push(ask.type);
    return ask.type === "question.requested" ? { answers: ask.data.questions.map(() => ["Yes"]) } : { reply: "once" };
  },
});
assert.deepEqual(asked.toSorted(), ["permission.requested", "question.requested"]);
assert.equal(turn.stopReason, "end_turn");
assert.deepEqual(await session.asks(), []);

// A wrong answer of the function is not sent.
const misanswered = await client.create(mock);
for (const wrong of ["once", null, { answer: "once" }]) {
  await assert.rejects(misanswered.run("[ask]", { answer: () => wrong }), { name: "TypeError", message: /\{ reply: "once" \}, not / });
  await misanswered.cancel();
}

// Refusals say what is wrong.
await assert.rejects(client.create({ agent: "nobody" }), (error) => error instanceof ApiError && error.code === "unsupported_agent");
await assert.rejects(new Client({ baseUrl: DAEMON, token: "wrong" }).agents(), { name: "ApiError", status: 401 });
await assert.rejects(new Client({ baseUrl: "http://127.0.0.1:9", attempts: 2 }).agents(), Unreachable);

// A session in a git worktree: refused, merged, dropped.
const git = (...words) => execFileSync("git", ["-C", DIRECTORY, "-c", "user.name=a", "-c", "user.email=a@b", ...words]);
await assert.rejects(client.create({ ...mock, worktree: true }), { name: "ApiError", code: "not_a_git_repository" });
git("init", "-q");
git("commit", "-qm", "first", "--allow-empty");
const apart = await client.create({ ...mock, worktree: true, permissionMode: "bypass" });
await apart.run("[diff path=new.txt line=new]");
assert.deepEqual((await apart.worktree()).files, ["new.txt"]);
await assert.rejects(apart.drop(), { name: "ApiError", code: "work_not_merged" });
assert.deepEqual((await apart.merge({ message: "Add a file" })).files, ["new.txt"]);
await apart.drop();
assert.equal((await apart.worktree()).exists, false);

// A rewind of the conversation, and the reason why files cannot be brought back.
const { eventCount } = await session.info();
assert.equal((await session.rewind(eventCount, "conversation")).conversation, true);
await assert.rejects(session.rewind(eventCount, "files"), { name: "ApiError", code: "invalid_request" });

// A request whose answer was lost is sent again, and has its effect once.
let posts = 0;
const flaky = new Client({
  baseUrl: DAEMON,
  token: TOKEN,
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    if (init.method === "POST" && posts++ === 0) throw new TypeError("the connection was reset");
    return response;
  },
});
const again = await flaky.session(session.id).run("[hello]");
assert.equal(posts, 2);
assert.equal(again.stopReason, "end_turn");

// The feed of all sessions, from the moment at which it is open; it ends when it is aborted.
const stop = new AbortController();
let open;
const opened = new Promise((resolve) => (open = resolve));
const watching = new Client({
  baseUrl: DAEMON,
  token: TOKEN,
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    open();
    return response;
  },
});
const feed = watching.events({ types: ["session.started"], signal: stop.signal });
const waiting = feed.next();
await opened;
const other = await client.create(mock);
assert.equal((await waiting).value.session_id, other.id);
stop.abort(new Error("enough"));
await assert.rejects(feed.next(), /enough/);

// Lists go over all pages.
const listed = [];
for await (const info of client.sessions({ agent: "mock" })) listed.push(info.sessionId);
assert.ok(listed.includes(session.id) && listed.includes(other.id));
assert.ok((await client.agents()).some((agent) => agent.id === "mock"));
assert.equal((await session.update({ title: "Renamed" })).title, "Renamed");

// A stream outlives its daemon: each event comes once.
await session.send("[hang]");
const sequences = [];
let turns = 0;
for await (const event of session.events()) {
  sequences.push(event.sequence);
  if (event.type === "turn.started" && ++turns === 4) console.log("kill");
  if (event.type === "turn.ended" && turns === 4) await session.terminate();
}
assert.equal(turns, 4);
assert.deepEqual(sequences, Array.from(sequences, (_, index) => index + 1));
assert.equal(sequences.length, (await session.info()).eventCount);
await session.delete();
await assert.rejects(session.info(), { code: "session_not_found" });
console.log("done");
