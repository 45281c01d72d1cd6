import { isObject } from '../../base/json.ts'
import type { CallInput, ErrorReply } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import { encodeOpenaiError } from '../openai/errors.ts'

/** The revision whose requests stand alone, and those that begin with `initialize`, the newest first. */
const revision = '2026-07-28'
const revisionsWithSessions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
const metaName = (name: string) => `io.modelcontextprotocol/${name}`

type Params = Readonly<Record<string, unknown>>

/** A request of JSON-RPC. */
export type McpRequest = {
  readonly id: string | number
  readonly method: string
  readonly params: Params
  /** It is of a revision without sessions. */
  readonly standsAlone: boolean
}

export type McpMessage =
  | { readonly type: 'request'; readonly request: McpRequest }
  /** Also answers to requests, which this server never sends. */
  | { readonly type: 'notification'; readonly method: string; readonly params: Params }
  | { readonly type: 'refusal'; readonly reply: ErrorReply }

/** JSON-RPC's codes, and MCP's. */
const codes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  unsupportedRevision: -32022,
}
type Failure = { readonly code: keyof typeof codes; readonly message: string; readonly data?: object }

export function readMessage(body: unknown, headers: CallInput['headers']): McpMessage {
  if (!isObject(body) || body.jsonrpc !== '2.0') {
    const message = `expected one message of JSON-RPC 2.0, as an object${Array.isArray(body) ? ', not an array: send each in a request of its own' : ''}`
    return refusal(null, { code: 'invalidRequest', message })
  }
  const { id, method } = body
  const params = isObject(body.params) ? body.params : {}
  if (typeof method !== 'string') {
    if ('result' in body || 'error' in body) return { type: 'notification', method: '', params }
    return refusal(idOf(id), { code: 'invalidRequest', message: "the message has no 'method'" })
  }
  if (id === undefined) return { type: 'notification', method, params }
  if (typeof id !== 'string' && typeof id !== 'number') {
    return refusal(null, { code: 'invalidRequest', message: "'id' is not a string or a number" })
  }
  const sent = headers['mcp-protocol-version']
  const claimed = isObject(params._meta) ? params._meta[metaName('protocolVersion')] : undefined
  const standsAlone = claimed !== undefined || sent === revision
  const request = { id, method, params, standsAlone }
  const failure = standsAlone ? faultOf(request, headers) : unknownRevision(sent, [revision, ...revisionsWithSessions])
  return failure === undefined ? { type: 'request', request } : refusal(id, failure)
}

/** What is wrong with the frame of a request that stands alone. */
function faultOf({ method, params }: McpRequest, headers: CallInput['headers']): Failure | undefined {
  const meta = isObject(params._meta) ? params._meta : {}
  const missing = ['protocolVersion', 'clientCapabilities'].map(metaName).find((name) => meta[name] === undefined)
  if (missing !== undefined) return { code: 'invalidParams', message: `params._meta lacks '${missing}'` }
  const mirrored: Readonly<Record<string, unknown>> = {
    'mcp-protocol-version': meta[metaName('protocolVersion')],
    'mcp-method': method,
    ...(method === 'tools/call' && { 'mcp-name': params.name }),
  }
  for (const [name, value] of Object.entries(mirrored)) {
    if (headers[name] === value) continue
    const message = `the header ${name} is ${JSON.stringify(headers[name] ?? null)}, and the body has ${JSON.stringify(value ?? null)}`
    return { code: 'headerMismatch', message }
  }
  return unknownRevision(meta[metaName('protocolVersion')], [revision])
}

function unknownRevision(requested: unknown, supported: readonly string[]): Failure | undefined {
  if (requested === undefined || supported.includes(requested as string)) return undefined
  const message = `this server does not speak the revision ${JSON.stringify(requested)} of MCP; it speaks ${supported.join(', ')}`
  return { code: 'unsupportedRevision', message, data: { supported, requested } }
}

function idOf(id: unknown): string | number | null {
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function refusal(id: McpRequest['id'] | null, failure: Failure, status = 400): Extract<McpMessage, { type: 'refusal' }> {
  return { type: 'refusal', reply: { status, body: failureBody(id, failure) } }
}

function failureBody(id: McpRequest['id'] | null, { code, message, data }: Failure) {
  return { jsonrpc: '2.0', id, error: { code: codes[code], message, ...(data !== undefined && { data }) } }
}

/** A failure before a message was read. */
export function encodeMcpError(error: AppError): ErrorReply {
  const { status } = encodeOpenaiError(error)
  const code = error.code === 'invalid-json' ? 'parseError' : status >= 500 ? 'internal' : 'invalidRequest'
  return { status, body: failureBody(null, { code, message: error.message }) }
}

/** The reply to a method that this server does not have. */
export function unknownMethod({ id, method, standsAlone }: McpRequest): ErrorReply {
  const message = `this server has no method '${method.slice(0, 100)}': it offers tools`
  return refusal(id, { code: 'methodNotFound', message }, standsAlone ? 404 : 200).reply
}

/** The reply to parameters that the protocol does not allow. */
export function invalidParams({ id }: McpRequest, message: string): ErrorReply {
  return refusal(id, { code: 'invalidParams', message }, 200).reply
}

export type McpResult = Readonly<Record<string, unknown>> & { readonly _meta?: object }

export function encodeMcpResult({ id, standsAlone }: McpRequest, result: McpResult, version: string) {
  if (!standsAlone) return { jsonrpc: '2.0', id, result }
  const _meta = { ...result._meta, [metaName('serverInfo')]: aboutServer(version) }
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result, _meta } }
}

/** The result of `initialize`, which begins a session. */
export function encodeInitialized({ params: { protocolVersion: wanted } }: McpRequest, version: string): McpResult {
  const protocolVersion = revisionsWithSessions.find((known) => known === wanted) ?? revisionsWithSessions[0]
  return { protocolVersion, serverInfo: aboutServer(version), ...offer() }
}

export const discovered: McpResult = { supportedVersions: [revision], ttlMs: 0, cacheScope: 'private', ...offer() }

function offer() {
  const instructions =
    'The language models of a Dragoman server. `chat` asks one of them; it knows nothing of this conversation, so give it all that it needs.'
  return { capabilities: { tools: {} }, instructions }
}

function aboutServer(version: string) {
  return { name: 'dragoman', title: 'Dragoman', version }
}
