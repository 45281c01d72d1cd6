import { printable } from '../../app/log/printable.ts'
import { SseDecoder } from '../../base/text/sse-decoder.ts'
import { networkReason } from '../../canonical/failure-reason.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { commandName } from '../terminal/command-name.ts'

/** A text, or message parts as in a chat completion. */
export type ChatContent = string | readonly { readonly type: string; readonly [field: string]: unknown }[]

export type ChatMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: ChatContent }

/** A chat completion, without the fields that this client sets itself. */
export type ChatBody = { readonly model: string; readonly messages: readonly ChatMessage[]; readonly [field: string]: unknown }

/** A model as `GET /v1/models` describes it. */
export type ModelCard = {
  readonly id: string
  /** Absent for other kinds of servers, like the fields below. */
  readonly state?: string
  /** Absent until known. */
  readonly context_length?: number
  readonly aliases?: readonly string[]
}

export type ServerAddress = { readonly url: string; readonly apiKey?: string | undefined }

/** A part of a streamed answer; `finish`: the reason for its end, such as `stop` or `length`; `usage` may follow it. */
type ChatEvent =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'finish'; readonly reason: string }
  | { readonly type: 'usage'; readonly outputTokens: number }

const probeTimeoutMs = 5000

export async function isServing(server: ServerAddress): Promise<boolean> {
  try {
    return (await fetch(`${server.url}/health`, { signal: AbortSignal.timeout(probeTimeoutMs) })).ok
  } catch {
    // Nothing listens there, or it is not an HTTP server.
    return false
  }
}

/** The models of a running server. Throws the server's error message if it refuses. */
export async function listModels(server: ServerAddress, { signal }: Pick<RequestInit, 'signal'> = {}): Promise<ModelCard[]> {
  const response = await request(server, '/v1/models', signal === undefined ? {} : { signal })
  const { data } = ((await response.json().catch(() => undefined)) ?? {}) as { data?: ModelCard[] }
  if (Array.isArray(data)) return data
  throw new AppError('engine-failed', `${server.url} is not a model server: its /v1/models is not a list`)
}

/** Whether a running server has a model with this id or alias. Throws the server's error message if it refuses. */
export async function hasModel(server: ServerAddress, name: string): Promise<boolean> {
  const response = await send(server, `/v1/models/${encodeURIComponent(name)}`, {})
  if (!response.ok && response.status !== 404) throw await refusal(server, response)
  // An unread body keeps its connection open.
  await response.body?.cancel()
  return response.ok
}

/** The JSON reply of a route. Throws the server's error message if it refuses. */
export async function callServer(server: ServerAddress, path: string, body?: object): Promise<unknown> {
  const response = await request(server, path, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) })
  return response.json()
}

/** Uploads a file. Returns its id. */
export async function uploadFile(
  { url, apiKey }: ServerAddress,
  { blob, name, purpose }: { readonly blob: Blob; readonly name: string; readonly purpose: string },
): Promise<string> {
  const body = new FormData()
  body.set('purpose', purpose)
  body.set('file', blob, name)
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const response = await reach(url, () => fetch(`${url}/v1/files`, { method: 'POST', body, headers }))
  if (!response.ok) throw await refusal({ url, apiKey }, response)
  return ((await response.json()) as { readonly id: string }).id
}

/** Cancels the requests with these keys, as in `POST /api/inference/cancel`. Returns how many. */
export async function cancelRuns(server: ServerAddress, keys: Readonly<Record<string, string>>): Promise<number> {
  const response = await request(server, '/api/inference/cancel', { method: 'POST', body: JSON.stringify(keys) })
  const body: unknown = await response.json().catch(() => undefined)
  if (typeof body === 'object' && body !== null && 'cancelled' in body && typeof body.cancelled === 'number')
    return body.cancelled
  throw new AppError('engine-failed', `${server.url} is not a server that cancels requests by key`)
}

/**
 * Streams the answer. Aborting the signal closes the connection; `cancelId` is for `cancelRuns`. Throws `engine-failed` if the connection
 * is lost.
 */
export async function* chat(
  server: ServerAddress,
  body: ChatBody,
  { signal, cancelId }: { readonly signal: AbortSignal; readonly cancelId?: string },
): AsyncGenerator<ChatEvent, void, void> {
  const response = await request(server, '/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    // Not in the body: other kinds of servers may refuse unknown fields.
    headers: cancelId === undefined ? {} : { 'x-dragoman-cancel-id': cancelId },
    signal,
  })
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as ChatChunk
    if (chunk.error !== undefined) throw new AppError('engine-failed', printable(chunk.error.message))
    const choice = chunk.choices?.[0]
    const { content, reasoning, reasoning_content } = choice?.delta ?? {}
    const thought = reasoning || reasoning_content
    if (thought) yield { type: 'reasoning', text: thought }
    if (content) yield { type: 'text', text: content }
    const reason = choice?.finish_reason ?? undefined
    if (reason !== undefined) yield { type: 'finish', reason }
    const outputTokens = chunk.usage?.completion_tokens
    if (outputTokens !== undefined) yield { type: 'usage', outputTokens }
  }
}

type ChatChunk = {
  readonly error?: { readonly message: string }
  readonly choices?: readonly { readonly delta: ChatDelta; readonly finish_reason: string | null }[]
  readonly usage?: { readonly completion_tokens: number } | null
}

/** Reasoning has two names; a server may use either, or both for the same text. */
type ChatDelta = Partial<Record<'content' | 'reasoning' | 'reasoning_content', string | null>>

async function request(server: ServerAddress, path: string, init: RequestInit): Promise<Response> {
  const response = await send(server, path, init)
  if (!response.ok) throw await refusal(server, response)
  return response
}

/** Sends a request with the key of the address. Throws `engine-failed` if the server cannot be reached. */
export async function send({ url, apiKey }: ServerAddress, path: string, init: RequestInit): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    ...(init.headers as Record<string, string> | undefined),
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  }
  return reach(url, () => (init.body === undefined ? fetch : fetchPatiently)(url + path, { ...init, headers }))
}

async function reach(url: string, ask: () => Promise<Response>): Promise<Response> {
  try {
    return await ask()
  } catch (error) {
    throw new AppError(
      'engine-failed',
      `the server at ${url} cannot be reached: ${networkReason(error)}; ` +
        `\`${commandName} serve\` starts one, and --server names another`,
      { cause: error },
    )
  }
}

function connectionLost(cause: unknown): AppError {
  return new AppError('engine-failed', `the connection to the server was lost: ${messageOf(cause)}`, { cause })
}

/** The server's error message, if it sent one; `engine-failed` where another try may succeed. */
async function refusal({ url, apiKey }: ServerAddress, response: Response): Promise<AppError> {
  if (response.status === 401) {
    await response.body?.cancel()
    const advice = `set DRAGOMAN_API_KEY to a key of it; \`${commandName} keys new\` makes one`
    const problem = apiKey === undefined ? 'asks for an API key' : 'does not accept the key in DRAGOMAN_API_KEY'
    return new AppError('unauthorized', `the server at ${url} ${problem}: ${advice}`)
  }
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined
  const message = body?.error?.message ?? `the server answered ${response.status} ${response.statusText}`
  const refused = response.status === 403 ? 'forbidden' : 'invalid-request'
  return new AppError(response.status < 500 ? refused : 'engine-failed', printable(message))
}

/** The `data` of each server-sent event. */
async function* readEvents({ body }: Response): AsyncGenerator<string, void, void> {
  const decoder = new SseDecoder()
  try {
    for await (const bytes of body ?? []) for (const { data } of decoder.push(bytes)) yield data
  } catch (error) {
    throw connectionLost(error)
  }
}

/**
 * As `fetch`, without its limit of five minutes for the headers of a reply and between its parts: fetching and loading a model, or reading
 * a prompt, may take longer.
 */
async function fetchPatiently(url: string, init: RequestInit): Promise<Response> {
  // It takes half as long to load as the rest of a command.
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  return (await fetch(url, { ...init, dispatcher } as Parameters<typeof fetch>[1])) as unknown as Response
}
