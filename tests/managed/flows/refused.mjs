// Expects a call to fail with an API error, and returns it.
import assert from "node:assert/strict";

export async function refused(kind, call) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof kind, `${error}`);
    return error;
  }
  assert.fail(`no ${kind.name}`);
}

export async function all(pages) {
  const found = [];
  for await (const each of await pages) found.push(each);
  return found;
}
