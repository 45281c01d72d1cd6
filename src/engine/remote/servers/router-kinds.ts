/** Routers that get headers about a request. `auto` sends the headers of all kinds, `none` sends no headers. */
const routerKinds = ['auto', 'llm-d', 'vllm-router', 'sglang-router', 'smg', 'ray', 'dynamo', 'none'] as const

export type RouterKind = (typeof routerKinds)[number]

/** The headers that a router reads: the session, the caller and the urgency of a request. */
type HeaderNames = {
  readonly session: readonly string[]
  readonly fairness: readonly string[]
  readonly objective: readonly string[]
}

const sessionId = 'x-session-id'
const routingKey = 'x-smg-routing-key'
const nothing: HeaderNames = { session: [], fairness: [], objective: [] }
// The second names are those of the Gateway API's extension; llm-d had its own before.
const flow = {
  fairness: ['x-llm-d-inference-fairness-id', 'x-gateway-inference-fairness-id'],
  objective: ['x-llm-d-inference-objective', 'x-gateway-inference-objective'],
}

export const routerHeaders: Readonly<Record<RouterKind, HeaderNames>> = {
  auto: { session: [sessionId, routingKey], ...flow },
  'llm-d': { session: [sessionId], ...flow },
  'vllm-router': { ...nothing, session: [sessionId] },
  'sglang-router': { ...nothing, session: [routingKey] },
  smg: { ...nothing, session: [routingKey] },
  ray: { ...nothing, session: [sessionId] },
  dynamo: { ...nothing, session: [sessionId] },
  none: nothing,
}
