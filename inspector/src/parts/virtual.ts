/** TanStack's virtualizer as a hook: only what is seen is in the page. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualizerOptions } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

type Options = Omit<VirtualizerOptions<HTMLElement, HTMLElement>, "observeElementRect" | "observeElementOffset" | "scrollToFn">;

export function useVirtual(options: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    ...options,
    onChange: () => draw(undefined),
  };
  const virtual = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  virtual.current ??= new Virtualizer(all);
  virtual.current.setOptions(all);
  useLayoutEffect(() => virtual.current?._didMount(), []);
  useLayoutEffect(() => virtual.current?._willUpdate());
  return virtual.current;
}
