import { AppError, messageOf } from '../contract/errors.ts'

export type ChatMessage = { readonly role: 'user' | 'assistant'; readonly content: string }

/** A model as `GET /v1/models` describes it. */
export type ModelCard = {
  readonly id: string
  /** Absent at servers of other kinds, as is what follows. */
  readonly state?: string
  /** Absent until it is known. */
  readonly context_length?: number
  readonly aliases?: readonly string[]
}

export type ServerAddress = { readonly url: string; readonly apiKey?: string | undefined }

/** What a streamed answer consists of; `finish` tells why it ended, such as `stop` or `length`. */
export type ChatEvent =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'finish'; readonly reason: string }

const probeTimeoutMs = 1000

/** Whether a Dragoman answers at this address. */
export async function isServing(server: ServerAddress): Promise<boolean> {
  try {
    return (await fetch(new URL('/health', server.url), { signal: AbortSignal.timeout(probeTimeoutMs) })).ok
  } catch {
    // Nothing listens there, or something else does: either way there is no server to talk to.
    return false
  }
}

/** The models of a running server. Throws with the server's own words when it refuses. */
export async function listModels(server: ServerAddress): Promise<ModelCard[]> {
  const response = await request(server, '/v1/models', {})
  const { data } = ((await response.json().catch(() => undefined)) ?? {}) as { data?: ModelCard[] }
  if (Array.isArray(data)) return data
  throw new AppError('engine-failed', `what answers at ${server.url} is no server of models: its /v1/models is no list`)
}

/** Whether a running server knows a model by this name: its id, or an alias. Throws with its own words when it refuses. */
export async function hasModel(server: ServerAddress, name: string): Promise<boolean> {
  const response = await send(server, `/v1/models/${encodeURIComponent(name)}`, {})
  if (!response.ok && response.status !== 404) throw await refusal(response)
  // A body that is not read holds its connection.
  await response.body?.cancel()
  return response.ok
}

/** Streams the answer. Aborting the signal stops the generation on the server. Throws `engine-failed` when the server goes away. */
export async function* chat(
  server: ServerAddress,
  { model, messages }: { model: string; messages: readonly ChatMessage[] },
  signal: AbortSignal,
): AsyncGenerator<ChatEvent, void, void> {
  const response = await request(server, '/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model, messages, stream: true }),
    signal,
  })
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') return
    const chunk = JSON.parse(data) as ChatChunk
    if (chunk.error !== undefined) throw new AppError('engine-failed', chunk.error.message)
    const choice = chunk.choices?.[0]
    const { content, reasoning, reasoning_content } = choice?.delta ?? {}
    const thought = reasoning || reasoning_content
    if (thought) yield { type: 'reasoning', text: thought }
    if (content) yield { type: 'text', text: content }
    const reason = choice?.finish_reason ?? undefined
    if (reason !== undefined) yield { type: 'finish', reason }
  }
}

type ChatChunk = {
  readonly error?: { readonly message: string }
  readonly choices?: readonly { readonly delta: ChatDelta; readonly finish_reason: string | null }[]
}

/** Reasoning has two names; a server may use either, or both for the same text. */
type ChatDelta = Partial<Record<'content' | 'reasoning' | 'reasoning_content', string | null>>

async function request(server: ServerAddress, path: string, init: RequestInit): Promise<Response> {
  const response = await send(server, path, init)
  if (!response.ok) throw await refusal(response)
  return response
}

async function send({ url, apiKey }: ServerAddress, path: string, init: RequestInit): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) }
  try {
    return await fetch(new URL(path, url), { ...init, headers })
  } catch (error) {
    const why = error instanceof Error && error.cause !== undefined ? error.cause : error
    throw new AppError(
      'engine-failed',
      `the server at ${url} cannot be reached: ${messageOf(why)}; \`dragoman serve\` starts one`,
      { cause: error },
    )
  }
}

function wentAway(cause: unknown): AppError {
  return new AppError('engine-failed', `the connection to the server broke: ${messageOf(cause)}`, { cause })
}

/** The server's own words, if it has any. */
async function refusal(response: Response): Promise<AppError> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined
  return new AppError('engine-failed', body?.error?.message ?? `the server answered ${response.status} ${response.statusText}`)
}

/** The `data` of each server-sent event. Our own server sends one line of it per event. */
async function* readEvents(response: Response): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  let buffer = ''
  for await (const bytes of untilItBreaks(response)) {
    buffer += decoder.decode(bytes, { stream: true })
    const lines = buffer.split('\n')
    buffer = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length)
  }
}

async function* untilItBreaks({ body }: Response): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* body ?? []
  } catch (error) {
    throw wentAway(error)
  }
}
