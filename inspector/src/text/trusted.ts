/** The only gates to the browser's dangerous sinks: sanitised HTML, and the address of our own worker. */
import DOMPurify from "dompurify";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}

const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("inspector", { createScriptURL: (url) => url });

export function scriptUrl(url: string): string {
  return policy?.createScriptURL(url) ?? url;
}

const ALLOWED = {
  ALLOWED_TAGS: [
    "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "input", "li", "ol",
    "p", "pre", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "title", "class", "align", "start", "type", "checked", "disabled", "rel", "target"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  // Whose values are no addresses.
  ADD_URI_SAFE_ATTR: ["align", "start", "type", "checked", "disabled", "rel", "target"],
  RETURN_TRUSTED_TYPE: true,
} as const;

/** HTML that holds no script, no style, no form, and no link but to the web. */
export function sanitised(html: string): string {
  return DOMPurify.sanitize(html, ALLOWED as never) as unknown as string;
}
