/** Light or dark: the system's choice, until somebody makes another. */
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "everyagent.theme";
const ORDER: Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>((localStorage.getItem(KEY) as Theme | null) ?? "system");

export function nextTheme(): void {
  theme.value = ORDER[(ORDER.indexOf(theme.value) + 1) % ORDER.length] as Theme;
}

export function applyTheme(): void {
  effect(() => {
    localStorage.setItem(KEY, theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
}
