import { AppError } from '../../../contract/errors.ts'
import { readStream } from '../transport/read-reply.ts'
import { readChunk, type WireChunk } from '../transport/wire-reply.ts'
import { type AbortQuestion, probeAbort } from './abort-probe.ts'
import { type Profile, type ProfileName, profiles } from './profiles.ts'

/** What a server was seen to do, or not to do, where its kind says nothing for certain. */
export type Abilities = Partial<Pick<Profile, 'choices' | 'logprobs' | 'jsonSchema' | 'toolChoice' | 'abortFreesSlot'>> & {
  /** A stream ends with its counts. */
  readonly usageInStreams?: boolean
}

/** A server to be asked what its kind leaves open. */
export type AbilityQuestion = AbortQuestion & { readonly kind: ProfileName }

type Asked = Omit<AbortQuestion, 'isIdle' | 'withinMs'>

/** A judge of a reply that tells nothing says undefined. */
type Judge<T> = (reply: T) => boolean | undefined

const question = [{ role: 'user', content: 'Say hello.' }]
/** As in requests to the only kind of server that is asked about fields. */
const limit = profiles.openai.maxTokens
const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false }

/** Whether there is anything that the kind of a server leaves open. */
export function hasOpenQuestions(kind: ProfileName): boolean {
  return kind === 'openai' || profiles[kind].abortFreesSlot === undefined
}

/**
 * Finds out by small requests, one after the other, so that they are no load. What fails for another reason than that the server
 * does not know the field leaves the question open.
 */
export async function probeAbilities({ kind, isIdle, ...asked }: AbilityQuestion): Promise<Abilities> {
  const seen = kind === 'openai' ? await probeFields(asked) : {}
  if (profiles[kind].abortFreesSlot !== undefined) return seen
  const abortFreesSlot = await probeAbort({ ...asked, isIdle }).catch(() => asked.signal.throwIfAborted())
  return { ...seen, ...(abortFreesSlot !== undefined && { abortFreesSlot }) }
}

async function probeFields(asked: Asked): Promise<Abilities> {
  const { signal } = asked
  const isAnswered = await holds(
    signal,
    () => ask(asked, { [limit]: 1 }),
    () => true,
  )
  // What refuses the question itself would refuse it with any field.
  if (isAnswered !== true) return {}
  const choices = await holds(
    signal,
    () => ask(asked, { n: 2, [limit]: 1 }),
    (reply) => reply.choices.length === 2,
  )
  const logprobs = await holds(
    signal,
    () => ask(asked, { logprobs: true, top_logprobs: 1, [limit]: 1 }),
    ofOutput((reply) => reply.choices.some((choice) => choice.logprobs !== undefined)),
  )
  const format = { type: 'json_schema', json_schema: { name: 'probe', schema, strict: true } }
  const jsonSchema = await holds(
    signal,
    () => ask(asked, { response_format: format, [limit]: 64 }),
    ofOutput((reply) => reply.choices.every(({ text }) => text.trimStart().startsWith('{'))),
  )
  const tools = [{ type: 'function', function: { name: 'probe', parameters: schema } }]
  const calls = await holds(
    signal,
    () => ask(asked, { tools, tool_choice: 'required', [limit]: 128 }),
    ofOutput((reply) => reply.choices.every((choice) => choice.calls.length > 0)),
  )
  const usageInStreams = await holds(
    signal,
    () => countStream(asked),
    (counted) => counted,
  )
  return {
    ...(choices !== undefined && { choices }),
    ...(logprobs !== undefined && { logprobs }),
    ...(jsonSchema !== undefined && { jsonSchema }),
    // Whether a name binds as well is not asked: one tool that is shown alone needs no name.
    ...(calls !== undefined && { toolChoice: calls ? 'no-names' : 'none' }),
    ...(usageInStreams !== undefined && { usageInStreams }),
  }
}

/** A model that reasons may have reached the limit before its answer began. */
function ofOutput(judge: Judge<WireChunk>): Judge<WireChunk> {
  return (reply) => {
    const isCutShort = reply.choices.some(({ text, calls, finishReason }) => {
      return text === '' && calls.length === 0 && finishReason === 'length'
    })
    return judge(reply) || (isCutShort ? undefined : false)
  }
}

async function ask({ client, endpoint, model, signal }: Asked, fields: Record<string, unknown>): Promise<WireChunk> {
  const body = { model, messages: question, temperature: 1, ...fields }
  return readChunk(await client.work(endpoint, { method: 'POST', path: '/chat/completions', body }, signal), undefined)
}

async function countStream({ client, endpoint, model, signal }: Asked): Promise<boolean> {
  const body = { model, messages: question, [limit]: 1, stream: true, stream_options: { include_usage: true } }
  let counted = false
  const reply = await client.stream(endpoint, { method: 'POST', path: '/chat/completions', body }, signal)
  await readStream(reply, (value) => {
    if (readChunk(value, undefined).usage !== undefined) counted = true
    return undefined
  })
  return counted
}

/** Undefined when the server could not be asked, or its reply tells nothing. */
async function holds<T>(signal: AbortSignal, request: () => Promise<T>, judge: Judge<T>): Promise<boolean | undefined> {
  try {
    return judge(await request())
  } catch (error) {
    signal.throwIfAborted()
    return AppError.from(error).code === 'invalid-request' ? false : undefined
  }
}
