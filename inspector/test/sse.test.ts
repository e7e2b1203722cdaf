import { describe, expect, test } from "vitest";
import { SseParser } from "../../clients/typescript/src/sse";

describe("server-sent events", () => {
  const stream = 'retry: 1000\n\nid: 1.1\nevent: message\ndata: {"a":"ü"}\n\n: heartbeat\n\nid: 1.2\ndata: {"b":2}\n\n';

  test("are the same wherever the bytes are cut", () => {
    const bytes = new TextEncoder().encode(stream);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parser = new SseParser();
      const found = [...parser.push(bytes.slice(0, cut)), ...parser.push(bytes.slice(cut))];
      expect(found).toEqual([
        { id: "1.1", data: '{"a":"ü"}' },
        { id: "1.2", data: '{"b":2}' },
      ]);
    }
  });
});
