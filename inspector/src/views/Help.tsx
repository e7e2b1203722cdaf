import { may } from "../state/identity";
import { overlay } from "../state/shown";
import { Dialog } from "../parts/Dialog";
import { KEYS } from "./shortcuts";

export function Help() {
  return (
    <Dialog title="Keyboard" onClose={() => (overlay.value = null)}>
      <dl class="keys">
        {KEYS.filter(([, , needs]) => !needs || may(needs)).map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(/\s+/).map((key) => (key === "–" ? key : <kbd key={key}>{key}</kbd>))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
