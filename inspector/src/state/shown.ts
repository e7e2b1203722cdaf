/** Which overlay is open. */
import { signal } from "@preact/signals";

export const overlay = signal<"new" | "help" | null>(null);
