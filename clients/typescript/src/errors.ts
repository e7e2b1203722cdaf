/** The daemon refused a request. `code` is one of the API's error codes, and the message says what to do. */
export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    /** The whole problem document. */
    readonly problem: Readonly<Record<string, unknown>> = {},
  ) {
    super(detail);
  }
}

/** The daemon did not answer. */
export class Unreachable extends Error {
  override name = "Unreachable";

  constructor(url: string, cause: unknown) {
    super(`everyagent does not answer at ${url}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

export async function apiError(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const detail = problem["detail"] ?? problem["title"] ?? `The daemon answered ${response.status}.`;
  return new ApiError(response.status, String(problem["code"] ?? "unknown"), String(detail), problem);
}
