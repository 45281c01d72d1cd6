import type { Case, CaseStep } from './case.ts'

export type CaseReply = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** A stream of chat completions is folded into one reply. */
  readonly json: unknown
}

/** The requests of a case, in order; those of `raw` are one for each way to cut it. */
export function stepsOf({ raw, before = [], tools, extra, steps = [] }: Case): readonly CaseStep[] {
  if (raw === undefined) return steps.flatMap((step) => Array.from({ length: step.repeat ?? 1 }, () => step))
  return [Number.POSITIVE_INFINITY, 1, 3].map((size) => {
    const chunks = inPieces(raw, size)
    const messages = [...before, { role: 'user', content: JSON.stringify({ chunks }) }]
    const body = { model: 'MODEL', messages, ...(tools && { tools }), stream: chunks.length > 1, ...extra }
    return { path: '/v1/chat/completions', body }
  })
}

function inPieces(text: string, size: number): string[] {
  const letters = [...text]
  if (size >= letters.length) return [text]
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, i) => letters.slice(i * size, (i + 1) * size).join(''))
}

/** Sends one request to the server at `url`. */
export async function ask(url: string, model: string, step: CaseStep): Promise<CaseReply> {
  const { method = 'POST', path, headers, body, bytes } = step
  const json = body === undefined ? undefined : JSON.stringify(body).replaceAll('"MODEL"', JSON.stringify(model))
  const reply = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(bytes !== undefined ? { body: Buffer.from(bytes, 'base64') } : json !== undefined && { body: json }),
  })
  const text = await reply.text()
  const isStream = reply.headers.get('content-type')?.includes('event-stream') === true
  return { status: reply.status, headers: reply.headers, text, json: isStream ? foldChat(text) : parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Checks of `text` do not need JSON, and those of a place then say that it is absent.
    return undefined
  }
}

type ChatCall = { id?: string; type: 'function'; function: { name: string; arguments: string } }
type Delta = {
  content?: string
  reasoning_content?: string
  reasoning?: string
  tool_calls?: (Partial<ChatCall> & { index: number })[]
}
type Chunk = { error?: unknown; usage?: unknown; choices?: { delta?: Delta; finish_reason?: string }[] }

/** The first choice of a streamed chat completion, as a whole reply has it. */
function foldChat(stream: string): unknown {
  const message = { role: 'assistant', content: null as string | null, reasoning_content: undefined as string | undefined }
  const calls: ChatCall[] = []
  const folded = { choice: { finish_reason: null as string | null }, error: undefined as unknown, usage: undefined as unknown }
  for (const chunk of chunksOf(stream)) {
    folded.error ??= chunk.error
    folded.usage = chunk.usage ?? folded.usage
    for (const { delta = {}, finish_reason } of chunk.choices ?? []) {
      if (delta.content) message.content = (message.content ?? '') + delta.content
      const thought = delta.reasoning_content ?? delta.reasoning
      if (thought) message.reasoning_content = (message.reasoning_content ?? '') + thought
      for (const { index, id, function: part } of delta.tool_calls ?? []) {
        calls[index] ??= { ...(id !== undefined && { id }), type: 'function', function: { name: '', arguments: '' } }
        calls[index].function.name += part?.name ?? ''
        calls[index].function.arguments += part?.arguments ?? ''
      }
      if (finish_reason) folded.choice.finish_reason = finish_reason
    }
  }
  const choice = { index: 0, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) }, ...folded.choice }
  return {
    choices: [choice],
    ...(folded.usage !== undefined && { usage: folded.usage }),
    ...(folded.error !== undefined && { error: folded.error }),
  }
}

function chunksOf(stream: string): Chunk[] {
  const data = stream.split(/\r?\n\r?\n/).map((block) =>
    block
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim())
      .join('\n'),
  )
  return data.filter((text) => text !== '' && text !== '[DONE]').map((text) => JSON.parse(text))
}
