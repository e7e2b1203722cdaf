/** Usage and cost, summed by the daemon. */
import { get } from "../api/client";
import type { UsageReport, UsageSum } from "../api/types";

export type Field = "day" | "session" | "agent" | "model" | "directory" | "workspace" | "key";

export interface UsageChoice {
  by: Field;
  /** The last days with today, in UTC; 0 for all. */
  days: number;
}

const DAY_MS = 86_400_000;

export function usageReport({ by, days }: UsageChoice, now: number): Promise<UsageReport> {
  const since = days ? new Date(now - (days - 1) * DAY_MS).toISOString().slice(0, 10) : undefined;
  return get<UsageReport>("v1/usage", { by, since });
}

/** The value of the field by which it was summed, in words where there is no name. */
export function nameOf(sum: UsageSum, by: Field): string {
  switch (by) {
    case "day":
      return sum.day ?? "";
    case "session":
      return sum.title || sum.sessionId || "Deleted sessions";
    case "agent":
      return sum.agent ?? "";
    case "model":
      return sum.model || "Unknown";
    case "directory":
      return sum.directory || "Of deleted sessions";
    case "workspace":
      return sum.workspace ?? "";
    case "key":
      return sum.keyId || "No key";
  }
}
