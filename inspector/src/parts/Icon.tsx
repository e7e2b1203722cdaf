/** Line icons on a 16-pixel grid, drawn in the colour of the text. */
const PATHS = {
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h3.5l1 2h3l1-2H14",
  agents: "M5.5 7a2 2 0 104.9 0 2.4 2.4 0 00-4.9 0M3 14c.6-2.6 2.5-4 5-4s4.4 1.4 5 4M8 4.500V2",
  plus: "M8 3v10M3 8h10",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zM10.700 10.700L14 14",
  chevron: "M6 4l4 4-4 4",
  back: "M10 3L5 8l5 5",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  send: "M2.500 8L14 2.500 9.500 14 8 9z",
  stop: "M4 4h8v8H4z",
  clip: "M13 7l-5.500 5.500a3 3 0 01-4.200-4.200L9 2.600a2 2 0 012.800 2.800L6.300 11a1 1 0 01-1.400-1.400L10 4.500",
  copy: "M5.500 5.500V2.500h8v8h-3M2.500 5.500h8v8h-8z",
  fork: "M4 2v12M4 9c5 0 8-1 8-5M12 2v2",
  link: "M6.500 9.500l3-3M7 4.500l1.500-1.500a2.800 2.800 0 014 4L11 8.500M9 11.500L7.500 13a2.800 2.800 0 01-4-4L5 7.500",
  clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 5v3l2 1.500",
  warning: "M8 2l6.500 11.500h-13zM8 6.500v3M8 11.500h.01",
  check: "M3 8.500l3.500 3.500L13 4.500",
  sun: "M8 11a3 3 0 100-6 3 3 0 000 6zM8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.500 3.500l.7.7M11.800 11.800l.7.7M12.500 3.500l-.7.7M4.200 11.800l-.7.7",
  help: "M8 14A6 6 0 108 2a6 6 0 000 12zM6.200 6.300a1.900 1.900 0 113 1.500c-.8.5-1.200.9-1.200 1.700M8 11.500h.01",
  tool: "M9.500 6.500a3.500 3.500 0 014.300-4.300l-2.300 2.300.2 1.800 1.800.2 2.300-2.300M9.500 6.500L3 13l1 1 6.500-6.500",
  terminal: "M2 3h12v10H2zM4.500 6l2 2-2 2M8.500 10h3",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  bell: "M4 11V7a4 4 0 018 0v4l1 1.500H3zM6.500 14h3",
  bolt: "M9 1.500L3.500 9H8l-1 5.500L12.500 7H8z",
  key: "M5 14a3 3 0 100-6 3 3 0 000 6zM7.200 8.800L13.500 2.500M11 5l2 2",
  chart: "M2.500 13.500h11M4.500 11V8M8 11V3M11.500 11V6",
  list: "M3 4h.01M6 4h8M3 8h.01M6 8h8M3 12h.01M6 12h8",
  exit: "M6.500 2.500h-4v11h4M6.500 8H14M11 5l3 3-3 3",
  edit: "M3 13l.8-3L10.500 3.300l2.200 2.200L6 12.200zM9 4.800L11.200 7",
  down: "M8 3v9M4 8.500l4 4 4-4",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
