/** Markdown into sanitised HTML, block by block, so that of a growing text only its last block is made anew. */
import { Marked, type Tokens } from "marked";
import { sanitised } from "./trusted";

export interface Block {
  /** The block's source: what it is remembered by. */
  raw: string;
  /** Code blocks are shown by their own component. */
  code: { text: string; language: string } | null;
}

const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    /** Agents write about tags more often than in them. */
    html: ({ text }) => escaped(text),
    link({ href, title, tokens }) {
      const label = this.parser.parseInline(tokens);
      if (!/^(https?:|mailto:)/i.test(href)) return label;
      const hint = title ? ` title="${escaped(title)}"` : "";
      return `<a href="${escaped(href)}"${hint} target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;
    },
    /** Nothing is loaded from elsewhere: an image is a link to it. */
    image({ href, text }) {
      if (!/^https?:/i.test(href)) return escaped(text || href);
      return `<a href="${escaped(href)}" target="_blank" rel="noopener noreferrer nofollow">${escaped(text || href)}</a>`;
    },
  },
});

const rendered = new Map<string, string>();
const REMEMBERED = 2000;

export function blocks(text: string): Block[] {
  return marked.lexer(text).flatMap((token): Block[] => {
    if (token.type === "space" || token.type === "def") return [];
    if (token.type !== "code") return [{ raw: token.raw, code: null }];
    const code = token as Tokens.Code;
    return [{ raw: token.raw, code: { text: code.text, language: (code.lang ?? "").split(/\s/)[0] ?? "" } }];
  });
}

export function html(raw: string): string {
  const known = rendered.get(raw);
  if (known !== undefined) return known;
  const made = sanitised(marked.parse(raw) as string);
  if (rendered.size >= REMEMBERED) rendered.delete(rendered.keys().next().value as string);
  rendered.set(raw, made);
  return made;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
