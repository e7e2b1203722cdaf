/** A todo list, where a tool call is one: agents name the fields differently and mean the same. */
import type { Todo } from "./entry";

export function todosOf(input: string): Todo[] | null {
  if (!/"(todos|plan)"/.test(input)) return null;
  try {
    const given = JSON.parse(input) as Record<string, unknown>;
    const list = given.todos ?? given.plan;
    if (!Array.isArray(list) || !list.length) return null;
    const todos = list.map((each: Record<string, unknown>) => ({
      label: String(each.content ?? each.step ?? each.label ?? ""),
      state: String(each.status ?? "pending"),
    }));
    return todos.every((todo) => todo.label) ? todos : null;
  } catch {
    return null;
  }
}
