import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { readStream } from '../transport/read-reply.ts'
import { toAppError } from '../transport/upstream-error.ts'
import type { WireChunk } from '../transport/wire-chunk.ts'
import { readChunk } from '../transport/wire-reply.ts'
import type { Profile, ProfileName } from './profile.ts'
import { profiles } from './profiles.ts'

/** The observed abilities of a server of unknown kind. */
export type Abilities = Partial<
  Pick<Profile, 'choices' | 'logprobs' | 'jsonSchema' | 'toolChoice' | 'maxTokens' | 'reasoningBudget'>
> & {
  /** A stream ends with its usage. */
  readonly usageInStreams?: boolean
}

export type ProbedServer = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  /** Its name for the model. */
  readonly model: string
  readonly signal: AbortSignal
}

/** Undefined: the reply does not show it. */
type Judge<T> = (reply: T) => boolean | undefined

const messages = [{ role: 'user', content: 'Say hello.' }]
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }

/** Whether the kind says too little about a server: any server may be behind `openai`. */
export function needsProbe(kind: ProfileName): boolean {
  return kind === 'openai'
}

/**
 * Probes a server with small requests, one by one to keep the load low. An ability stays undefined if its request fails for another reason
 * than an unknown field.
 */
export async function probeAbilities(server: ProbedServer): Promise<Abilities> {
  const { signal } = server
  const limit = await findLimit(server)
  // A server that refuses the plain request would refuse it with any field.
  if (limit === undefined) return {}
  const choices = await observe(
    signal,
    () => ask(server, { n: 2, [limit]: 1 }),
    (reply) => reply.choices.length === 2,
  )
  const logprobs = await observe(
    signal,
    () => ask(server, { logprobs: true, top_logprobs: 1, [limit]: 1 }),
    ofOutput((reply) => reply.choices.some((choice) => choice.logprobs !== undefined)),
  )
  const format = { type: 'json_schema', json_schema: { name: 'probe', schema, strict: true } }
  const jsonSchema = await observe(
    signal,
    () => ask(server, { response_format: format, [limit]: 64 }),
    ofOutput((reply) => reply.choices.every(({ text }) => text.trimStart().startsWith('{'))),
  )
  const tools = [{ type: 'function', function: { name: 'probe', parameters: schema } }]
  const calls = await observe(
    signal,
    () => ask(server, { tools, tool_choice: 'required', [limit]: 128 }),
    ofOutput((reply) => reply.choices.every((choice) => choice.calls.length > 0)),
  )
  const usageInStreams = await observe(
    signal,
    () => countStream(server, limit),
    (counted) => counted,
  )
  return {
    ...(limit !== profiles.openai.maxTokens && { maxTokens: limit }),
    ...(choices !== undefined && { choices }),
    ...(logprobs !== undefined && { logprobs }),
    ...(jsonSchema !== undefined && { jsonSchema }),
    // Named functions are not probed: the tool is declared alone instead.
    ...(calls !== undefined && { toolChoice: calls ? 'no-names' : 'none' }),
    ...(usageInStreams !== undefined && { usageInStreams }),
  }
}

/** The name of the output limit: OpenAI's new one, unless the server honours only the old one. Undefined if it answers neither. */
async function findLimit(server: ProbedServer): Promise<Profile['maxTokens'] | undefined> {
  const { signal } = server
  let isAnswered = false
  const keeps = (name: Profile['maxTokens']) => {
    return observe(
      signal,
      () => ask(server, { [name]: 1 }),
      (reply) => {
        isAnswered = true
        return isShort(reply)
      },
    )
  }
  const isKept = await keeps('max_completion_tokens')
  if (isKept !== false) return isAnswered ? 'max_completion_tokens' : undefined
  const wasAnswered = isAnswered
  if ((await keeps('max_tokens')) === true) return 'max_tokens'
  return wasAnswered ? 'max_completion_tokens' : undefined
}

/** Whether a reply has kept a limit of one token. A server that does not count is believed. */
function isShort({ choices, usage }: WireChunk): boolean {
  if (choices.some(({ finishReason }) => finishReason === 'length')) return true
  return usage === undefined || usage.outputTokens <= 1
}

/** Undefined if the limit ended the reply before its content, as with a model that reasons. */
function ofOutput(judge: Judge<WireChunk>): Judge<WireChunk> {
  return (reply) => {
    const isTruncated = reply.choices.some(({ text, calls, finishReason }) => {
      return text === '' && calls.length === 0 && finishReason === 'length'
    })
    return judge(reply) || (isTruncated ? undefined : false)
  }
}

async function ask({ client, endpoint, model, signal }: ProbedServer, fields: Record<string, unknown>): Promise<WireChunk> {
  const body = { model, messages, temperature: 1, ...fields }
  const reply = await client.work(endpoint, { method: 'POST', path: '/chat/completions', body }, signal)
  return readChunk(reply, { choices: 8 })
}

async function countStream({ client, endpoint, model, signal }: ProbedServer, limit: Profile['maxTokens']): Promise<boolean> {
  const body = { model, messages, [limit]: 1, stream: true, stream_options: { include_usage: true } }
  let counted = false
  const { body: reply } = await client.stream(endpoint, { method: 'POST', path: '/chat/completions', body }, signal)
  await readStream(reply, (value) => {
    if (readChunk(value, { choices: 1 }).usage !== undefined) counted = true
    return undefined
  })
  return counted
}

/** Undefined if the request fails, or if its reply does not show it. */
async function observe<T>(signal: AbortSignal, request: () => Promise<T>, judge: Judge<T>): Promise<boolean | undefined> {
  try {
    return judge(await request())
  } catch (error) {
    signal.throwIfAborted()
    return toAppError(error).code === 'invalid-request' ? false : undefined
  }
}
