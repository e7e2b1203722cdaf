/** Reads what was typed for a new session, line by line. A line that cannot be read names its field. */
import type { CreateSession } from "../api/types";

export class Unreadable extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** `NAME=value` lines. */
export function variables(field: string, text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of pairs(field, text, "NAME=value")) found[name] = value;
  return found;
}

/** `name=URL` or `name=command arguments` lines. */
export function servers(text: string): NonNullable<CreateSession["mcp"]> {
  const found: NonNullable<CreateSession["mcp"]> = {};
  for (const [name, place] of pairs("mcp", text, "name=URL, or name=command")) {
    if (!place) throw new Unreadable("mcp", `“${name}=” has neither an address nor a command.`);
    found[name] = /^https?:\/\//.test(place) ? { type: "remote", url: place } : { type: "local", command: words(place) };
  }
  return found;
}

function pairs(field: string, text: string, form: string): [string, string][] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Unreadable(field, `“${line}” has no name. Write ${form}.`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
}

/** The words of a command; quotes hold some together. */
export function words(command: string): string[] {
  const found = command.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  return found.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}
