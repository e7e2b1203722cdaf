/** Numbers and times as people read them. */
import type { Usage } from "../api/types";

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

export function ago(then: number, now: number): string {
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 5) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 30 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  return new Date(then).toLocaleDateString();
}

export function money(dollars: number): string {
  if (!dollars) return "";
  if (dollars < 0.0001) return "<$0.0001";
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

export function count(number: number): string {
  if (number < 10_000) return number.toLocaleString("en");
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

export function bytes(number: number): string {
  if (number < 1000) return `${number} B`;
  if (number < 1_000_000) return `${(number / 1000).toFixed(0)} kB`;
  return `${(number / 1_000_000).toFixed(1)} MB`;
}

export function clock(time: string, withMillis = false): string {
  const date = new Date(time);
  const text = date.toLocaleTimeString("en-GB");
  return withMillis ? `${text}.${String(date.getMilliseconds()).padStart(3, "0")}` : text;
}

/** All tokens that were paid for, cached ones as well: the one count that is shown anywhere. */
export function tokensOf(usage: Usage): number {
  return (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0) + (usage.cache_read_tokens ?? 0) + (usage.cache_write_tokens ?? 0);
}

/** What the count is made of. */
export function tokenParts(usage: Usage): string {
  const parts: [number | undefined, string][] = [
    [usage.input_tokens, "in"],
    [usage.output_tokens, "out"],
    [usage.cache_read_tokens, "read from cache"],
    [usage.cache_write_tokens, "written to cache"],
  ];
  return parts
    .filter(([number]) => number)
    .map(([number, what]) => `${count(number ?? 0)} ${what}`)
    .join(", ");
}

/** Any value as text for people: the words in it, without the punctuation of JSON. */
export function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join(", ");
  return Object.entries(value)
    .map(([name, each]) => `${name}: ${wordsOf(each)}`)
    .join(", ");
}

/** The last name of a path, and the whole of anything else. */
export function basename(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || path;
}

export function plural(number: number, word: string): string {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

export function titled(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The part of a session's id that differs from those of other sessions: ids of one run of the daemon end alike. */
export function shortId(id: string): string {
  const made = /^sess_.{4}(.{6})(.{6}).{10}$/.exec(id);
  return made ? `${made[1]}${made[2]!.replace(/^0+/, "")}` : id;
}
