import { describe, expect, test } from "vitest";
import { plain, spans } from "../src/text/ansi";

describe("terminal output", () => {
  test("keeps colours and weights", () => {
    expect(spans("\x1b[1;31mred\x1b[0m plain \x1b[38;5;196mx\x1b[48;2;1;2;3my")).toEqual([
      { text: "red", classes: ["ansi-bold", "ansi-c1"], colour: null, ground: null },
      { text: " plain ", classes: [], colour: null, ground: null },
      { text: "x", classes: [], colour: "rgb(255 0 0)", ground: null },
      { text: "y", classes: [], colour: "rgb(255 0 0)", ground: "rgb(1 2 3)" },
    ]);
  });

  test("swaps front and back when inverse", () => {
    expect(spans("\x1b[7;32mx")[0]?.classes).toEqual(["ansi-back", "ansi-on-c2"]);
  });

  test.each([
    ["cursor moves", "a\x1b[2J\x1b[10;5Hb", "ab"],
    ["titles and links", "\x1b]0;evil title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"],
    ["an escape that never ends", "a\x1b]52;c;AAAA\nb", "a\nb"],
    ["bells and backspaces", "a\x07\x08b", "ab"],
    ["a progress bar", "10%\r50%\r100%\ndone\r\n", "100%\ndone\n"],
    ["a colour that is no number", "\x1b[38;5;999mx\x1b[38;2;999;;300my", "xy"],
  ])("drops %s", (_, output, text) => {
    expect(plain(output)).toBe(text);
    expect(spans(output).map((span) => span.text).join("")).toBe(text);
  });
});
