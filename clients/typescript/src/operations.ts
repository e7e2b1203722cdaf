/** Types of a call, from the OpenAPI document: which parameters and which body it takes, and what it answers. */
import type { paths } from "./schema.js";

export type Method = "get" | "post" | "put" | "patch" | "delete";
export type Path = keyof paths;
/** The methods that a path has. */
export type MethodOf<P extends Path> = { [M in Method]: paths[P][M] extends object ? M : never }[Method];

type Operation<P extends Path, M extends Method> = NonNullable<paths[P][M]>;
type Parameters<O> = O extends { parameters: infer T } ? T : object;
type Given<T, K extends string> = K extends keyof T ? NonNullable<T[K]> : never;
type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
type Needed<K extends string, T> = [T] extends [never] ? { [key in K]?: undefined } : object extends T ? { [key in K]?: T } : { [key in K]: T };

export type CallOptions<P extends Path, M extends Method> = Needed<"path", Given<Parameters<Operation<P, M>>, "path">> &
  Needed<"query", Given<Parameters<Operation<P, M>>, "query">> &
  Needed<"body", Body<Operation<P, M>>> & {
    signal?: AbortSignal;
    /** A key for this effect, if you keep one; otherwise each call gets its own. A repeat with the same key has no second effect. */
    idempotencyKey?: string;
  };

type Json<R> = R extends { content: { "application/json": infer B } } ? B : undefined;
export type Answer<P extends Path, M extends Method> = Operation<P, M> extends { responses: { 200: infer R } } ? Json<R> : undefined;
