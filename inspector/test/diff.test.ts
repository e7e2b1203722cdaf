import { describe, expect, test } from "vitest";
import { counts, parseDiff, sideBySide } from "../src/text/diff";

const DIFF = `--- a/src/x.py\t2026-01-01
+++ b/src/x.py
@@ -1,4 +1,4 @@ def f():
 one
-two
+TWO
 three
--- not a header
\\ No newline at end of file
`;

describe("a unified diff", () => {
  test("has its lines with their numbers", () => {
    const [file] = parseDiff(DIFF.replace("-1,4 +1,4", "-1,4 +1,3"));
    expect(file).toMatchObject({ from: "src/x.py", to: "src/x.py" });
    expect(file?.hunks[0]?.lines.map((line) => [line.kind, line.old, line.new, line.text])).toEqual([
      ["same", 1, 1, "one"],
      ["removed", 2, null, "two"],
      ["added", null, 2, "TWO"],
      ["same", 3, 3, "three"],
      ["removed", 4, null, "-- not a header"],
      ["note", null, null, "No newline at end of file"],
    ]);
  });

  test("is counted and paired", () => {
    const files = parseDiff(DIFF.replace("-1,4 +1,4", "-1,4 +1,3"));
    expect(counts(files)).toEqual({ added: 1, removed: 2 });
    expect(sideBySide(files[0]!.hunks[0]!.lines)[1]).toMatchObject({ left: { text: "two" }, right: { text: "TWO" } });
  });

  test.each(["", "no diff at all", "@@ broken @@", "--- a\n+++ b\n", "+++ b\n@@ -1 +1 @@"])("never fails: %j", (text) => {
    expect(() => parseDiff(text)).not.toThrow();
  });

  test("knows a new file, several files, and hunks without a file", () => {
    const text = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n--- a/b\n+++ b/b\n@@ -1 +0,0 @@\n-y\n";
    expect(parseDiff(text).map((file) => [file.from, file.to])).toEqual([["", "new"], ["b", "b"]]);
    expect(parseDiff("@@ -1 +1 @@\n-a\n+b")).toHaveLength(1);
  });
});
