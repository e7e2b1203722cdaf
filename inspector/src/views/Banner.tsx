/** Says that the stream is lost, and when it is tried again. */
import { useEffect, useState } from "preact/hooks";
import { connection, retryNow } from "../state/live";
import { Icon } from "../parts/Icon";

const PATIENCE_MS = 400;

export function Banner() {
  const now = connection.value;
  const [late, setLate] = useState(false);
  const away = now.state === "lost" || now.state === "connecting";
  useEffect(() => {
    setLate(false);
    if (!away) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [away]);
  return (
    <div role="status" class="banner-place">
      {away && late && (
        <div class="banner">
          <Icon name="warning" />
          <span>
            No connection to the daemon. {now.state === "lost" ? "Trying again by itself; nothing is lost." : "Connecting…"}
          </span>
          <button type="button" class="button small" onClick={retryNow}>
            Try now
          </button>
        </div>
      )}
    </div>
  );
}
