import { useState } from "preact/hooks";
import { Icon, type IconName } from "./Icon";
import { attempt } from "../state/notices";

const SHOWN_MS = 1500;

export function CopyButton({ text, label, icon = "copy", children }: { text: string | (() => string); label: string; icon?: IconName; children?: string }) {
  const [done, setDone] = useState(false);
  const copy = () =>
    attempt(async () => {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setDone(true);
      setTimeout(() => setDone(false), SHOWN_MS);
    });
  return (
    <button type="button" class={children ? "button small" : "icon-button copy"} aria-label={children ? undefined : label} title={label} onClick={copy}>
      <Icon name={done ? "check" : icon} />
      {children && (done ? "Copied" : children)}
    </button>
  );
}
