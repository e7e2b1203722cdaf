/** Which language a file is written in, by its name; `highlight.ts` knows these. */
const BY_SUFFIX: Record<string, string> = {
  bash: "bash", c: "cpp", cc: "cpp", cfg: "ini", conf: "ini", cpp: "cpp", css: "css", go: "go", h: "cpp", hpp: "cpp",
  html: "xml", ini: "ini", java: "java", js: "javascript", json: "json", jsonl: "json", jsx: "javascript", md: "markdown",
  mjs: "javascript", py: "python", pyi: "python", rs: "rust", scss: "css", sh: "bash", sql: "sql", svg: "xml",
  toml: "ini", ts: "typescript", tsx: "typescript", xml: "xml", yaml: "yaml", yml: "yaml", zsh: "bash",
};

export function languageOf(path: string): string {
  return BY_SUFFIX[path.split(".").at(-1)?.toLowerCase() ?? ""] ?? "";
}
