/** Budgets and ask deadlines, between what is typed and what the API takes. */
import type { CreateSession, Session } from "../api/types";
import { duration, money } from "./format";
import { Unreadable } from "./sessionoptions";

export interface LimitFields {
  budgetUsd: string;
  budgetTokens: string;
  seconds: string;
  permission: "deny" | "allow";
  question: string;
}

export const NO_LIMITS: LimitFields = { budgetUsd: "", budgetTokens: "", seconds: "", permission: "deny", question: "" };

export function typedLimits({ budgetUsd, budgetTokens, askTimeout }: Session): LimitFields {
  return {
    budgetUsd: String(budgetUsd ?? ""),
    budgetTokens: String(budgetTokens ?? ""),
    seconds: String(askTimeout?.seconds ?? ""),
    permission: askTimeout?.permission ?? "deny",
    question: askTimeout?.question ?? "",
  };
}

/** An empty field is no limit. */
export function limitsOf(typed: LimitFields): Pick<CreateSession, "budgetUsd" | "budgetTokens" | "askTimeout"> {
  const seconds = number("askTimeout", typed.seconds);
  const question = typed.question.trim();
  return {
    budgetUsd: number("budgetUsd", typed.budgetUsd),
    budgetTokens: number("budgetTokens", typed.budgetTokens),
    askTimeout: seconds === null ? null : { seconds, permission: typed.permission, ...(question && { question }) },
  };
}

function number(field: string, text: string): number | null {
  if (!text.trim()) return null;
  const found = Number(text.trim());
  if (!Number.isFinite(found)) throw new Unreadable(field, `“${text}” is no number.`);
  return found;
}

/** Short, for the header of a session. */
export function limitWords({ budgetUsd, budgetTokens, askTimeout }: Session): string[] {
  return [
    ...(budgetUsd ? [`budget ${money(budgetUsd)}`] : []),
    ...(budgetTokens ? [`budget ${budgetTokens.toLocaleString("en")} tokens`] : []),
    ...(askTimeout ? [`waits ${duration(askTimeout.seconds * 1000)} for answers`] : []),
  ];
}
