import type { Todo } from "../../transcript/entry";
import { Icon } from "../../parts/Icon";

export function PlanRow({ todos }: { todos: Todo[] }) {
  const done = todos.filter((todo) => todo.state === "completed").length;
  return (
    <section class="plan" aria-label={`Plan: ${done} of ${todos.length} done`}>
      <header>
        <strong>Plan</strong>
        <progress value={done} max={todos.length} aria-label="Progress of the plan" />
        <span class="muted">
          {done}/{todos.length}
        </span>
      </header>
      <ul>
        {todos.map((todo, index) => (
          <li key={index} class={todo.state}>
            <span class="mark">{todo.state === "completed" ? <Icon name="check" /> : null}</span>
            <span>{todo.label}</span>
            <span class="hidden"> ({todo.state.replace("_", " ")})</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
