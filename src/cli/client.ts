import { AppError } from '../core/errors.ts'

export type ChatMessage = { readonly role: 'user' | 'assistant'; readonly content: string }

/** A model as `GET /v1/models` describes it. */
export type ModelCard = {
  readonly id: string
  readonly state: string
  readonly context_length: number | null
  readonly aliases: readonly string[]
}

export type ServerAddress = { readonly url: string; readonly apiKey?: string | undefined }

/** How a streamed answer ended. */
export type ChatEnd = { readonly finishReason: string | undefined }

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
  return ((await response.json()) as { data: ModelCard[] }).data
}

/** Whether a running server knows a model by this name: its id, or an alias. */
export async function hasModel({ url, apiKey }: ServerAddress, name: string): Promise<boolean> {
  const response = await fetch(new URL(`/v1/models/${encodeURIComponent(name)}`, url), { headers: headersWith(apiKey) })
  return response.ok
}

/** Streams the answer's text. Aborting the signal stops the generation on the server. */
export async function* chat(
  server: ServerAddress,
  { model, messages }: { model: string; messages: readonly ChatMessage[] },
  signal: AbortSignal,
): AsyncGenerator<string, ChatEnd, void> {
  const response = await request(server, '/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model, messages, stream: true }),
    signal,
  })
  let finishReason: string | undefined
  for await (const data of readEvents(response)) {
    if (data === '[DONE]') break
    const chunk = JSON.parse(data) as ChatChunk
    if (chunk.error !== undefined) throw new AppError('engine-failed', chunk.error.message)
    const choice = chunk.choices?.[0]
    if (choice?.delta.content) yield choice.delta.content
    finishReason = choice?.finish_reason ?? finishReason
  }
  return { finishReason }
}

type ChatChunk = {
  readonly error?: { readonly message: string }
  readonly choices?: readonly { readonly delta: { readonly content?: string | null }; readonly finish_reason: string | null }[]
}

async function request({ url, apiKey }: ServerAddress, path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(new URL(path, url), { ...init, headers: headersWith(apiKey) })
  if (response.ok) return response
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined
  throw new AppError('engine-failed', body?.error?.message ?? `the server answered ${response.status} ${response.statusText}`)
}

function headersWith(apiKey: string | undefined): Record<string, string> {
  return { 'content-type': 'application/json', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) }
}

/** The `data` of each server-sent event. Our own server sends one line of it per event. */
async function* readEvents(response: Response): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  let buffer = ''
  for await (const bytes of response.body ?? []) {
    buffer += decoder.decode(bytes, { stream: true })
    const lines = buffer.split('\n')
    buffer = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length)
  }
}
