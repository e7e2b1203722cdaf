/** What is folded open stays so while it is scrolled away and comes back. */
import { useState } from "preact/hooks";

const folds = new Map<string, boolean>();

export function useFold(key: string, open: boolean): [boolean, () => void] {
  const [, draw] = useState(0);
  const now = folds.get(key) ?? open;
  return [
    now,
    () => {
      folds.set(key, !now);
      draw((n) => n + 1);
    },
  ];
}
