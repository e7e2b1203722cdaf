import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./Icon";

/** Not the button that closes it, where there is something else. */
const FIRST = "header ~ * :is(input:checked, input:not([type=radio]), select, button)";

/**
 * The browser's own dialog: it holds the focus and gives it back. Escape closes it while the key is handled: the browser
 * tells of its own closing later, and a key typed in between would still belong to the dialog.
 */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const gone = useRef(false);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>(FIRST)?.focus();
    return () => {
      gone.current = true;
      dialog?.close();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={element}
      aria-label={title}
      onKeyDown={onKeyDown}
      onClose={() => !gone.current && onClose()}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <div class="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
