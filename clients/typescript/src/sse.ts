/** Server-sent events out of a byte stream cut anywhere. Comments (heartbeats) are passed over. */
export interface Message {
  id: string;
  data: string;
}

export class SseParser {
  private decoder = new TextDecoder();
  private rest = "";

  /** The messages that these bytes complete. */
  push(bytes: Uint8Array): Message[] {
    this.rest += this.decoder.decode(bytes, { stream: true });
    const messages: Message[] = [];
    let start = 0;
    for (let end; (end = this.rest.indexOf("\n\n", start)) >= 0; start = end + 2) {
      const message = parse(this.rest.slice(start, end));
      if (message) messages.push(message);
    }
    this.rest = this.rest.slice(start);
    return messages;
  }
}

function parse(block: string): Message | null {
  let id = "";
  let data: string | null = null;
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) {
      const text = line.slice(line[5] === " " ? 6 : 5);
      data = data === null ? text : `${data}\n${text}`;
    } else if (line.startsWith("id:")) id = line.slice(3).trim();
  }
  return data === null ? null : { id, data };
}
