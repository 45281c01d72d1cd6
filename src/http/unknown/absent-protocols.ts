import type { ErrorReply } from '../../contract/dialect.ts'

/** A protocol that clients try, and that this server does not support. */
type AbsentProtocol = {
  readonly name: string
  readonly paths: RegExp
  /** The message in the protocol's own envelope. Not 404 if clients read that as a missing model. */
  encode(message: string): ErrorReply
}

const absent: readonly AbsentProtocol[] = [
  {
    // Also llama-stack's, whose clients read `detail`.
    name: "OpenAI's vector stores and moderations",
    paths: /^\/v1\/(vector_stores|moderations)(\/|$)/,
    encode: (message) => ({
      status: 400,
      body: { error: { message, type: 'invalid_request_error', param: null, code: 'unsupported_protocol', detail: message } },
    }),
  },
  {
    name: "llama-stack's APIs besides inference",
    paths:
      /^\/v1(alpha|beta)?\/(admin|agents|benchmarks|connectors|datasetio|datasets|eval|post-training|prompts|safety|scoring|scoring-functions|shields|synthetic-data-generation|telemetry|tool-runtime|toolgroups|tools|vector-dbs|vector-io)(\/|$)/,
    // Its clients repeat a request after such a status, unless a header forbids it.
    encode: (message) => ({ status: 501, headers: { 'x-should-retry': 'false' }, body: { error: { detail: message } } }),
  },
  {
    name: "Gemini's protocol",
    paths: /^\/v1(alpha|beta)?\/models\/[^/]+:\w+$|^\/v1(alpha|beta)(\/|$)/,
    encode: (message) => ({ status: 404, body: { error: { code: 404, message, status: 'NOT_FOUND' } } }),
  },
]

/** The reply to a request of an unsupported protocol; undefined for other paths. */
export function replyOfAbsentProtocol(path: string, served: readonly string[]): ErrorReply | undefined {
  const protocol = absent.find(({ paths }) => paths.test(path))
  return protocol?.encode(
    `Dragoman does not speak ${protocol.name} (${path}); it serves ${served.join(', ')}; see docs/reference/protocols.md`,
  )
}

/** The route that a path means with another prefix, such as `/chat/completions` without `/v1`. */
export function nearestRoute(path: string, routes: Iterable<string>): string | undefined {
  const wanted = withoutPrefix(path)
  if (wanted === '') return undefined
  for (const route of routes) if (route !== path && withoutPrefix(route) === wanted) return route
  return undefined
}

/** Removes versions and proxy names that base URLs put in front. */
function withoutPrefix(path: string): string {
  return path
    .toLowerCase()
    .replace(/\/+$/, '')
    .replace(/^(\/(api|openai|llm|proxy|v\d+))+(?=\/)/, '')
}
