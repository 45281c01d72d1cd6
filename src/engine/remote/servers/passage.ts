import { readStream } from '../transport/read-reply.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { readChunk } from '../transport/wire-reply.ts'
import type { ProbedServer } from './abilities.ts'
import type { ConstraintField, Profile } from './profile.ts'

/** The features that a router was observed to pass on to its engines, or to drop. Absent: the replies do not show it. */
export type Passage = {
  /** A pattern or grammar that the reply obeyed. */
  readonly regex?: boolean
  readonly top_k?: boolean
  readonly tokenizer?: boolean
  readonly continuous_usage_stats?: boolean
  /** The `strict` of tools. */
  readonly strict?: boolean
}

/** A router, and the profile of the engines behind it. */
type Probed = ProbedServer & { readonly profile: Profile }

const path = '/chat/completions'
const messages = [{ role: 'user', content: 'Say hello.' }]
/** A word that no model produces by itself. */
const word = 'qzxv'
/** Kinds that reject nonsensical values; others ignore them. */
const checkingKinds: ReadonlySet<string> = new Set(['vllm', 'sglang', 'dragoman'])

/** Probes a router with small requests, one by one. A feature whose request fails for another reason stays absent. */
export async function probePassage(probed: Probed): Promise<Passage> {
  const { profile } = probed
  const { topK } = profile.fields
  const isChecked = checkingKinds.has(profile.name)
  // Without a plain reply, no other reply shows anything.
  if ((await replyTo(probed, { [profile.maxTokens]: 1 })).type !== 'reply') return {}
  const found = {
    regex: await passesPattern(probed),
    top_k: topK !== undefined && isChecked ? await refuses(probed, { [topK]: -5 }) : undefined,
    tokenizer: await passesTokenizer(probed),
    continuous_usage_stats: profile.runningUsage ? await passesRunningUsage(probed) : undefined,
    strict: isChecked
      ? await refuses(probed, { tools: [{ type: 'function', function: { name: 'f', strict: 'odd' } }] })
      : undefined,
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}

/** The profile without the features that a router drops. Those are then emulated here, or refused by name. */
export function throughRouter(profile: Profile, passage: Passage): Profile {
  const { regex, gbnf, prefersGrammars, tokenizer, ...rest } = profile
  const { topK, ...fields } = rest.fields
  return {
    ...rest,
    ...(passage.regex !== false && { ...(regex && { regex }), ...(gbnf && { gbnf }) }),
    ...(passage.regex === true && prefersGrammars && { prefersGrammars }),
    ...(passage.tokenizer !== false && tokenizer !== undefined && { tokenizer }),
    fields: { ...fields, ...(passage.top_k !== false && topK !== undefined && { topK }) },
    runningUsage: rest.runningUsage && passage.continuous_usage_stats !== false,
  }
}

type Reply = { readonly type: 'reply'; readonly text: string; readonly isCut: boolean } | { readonly type: 'refused' | 'failed' }

async function replyTo({ client, endpoint, model, signal }: Probed, fields: Record<string, unknown>): Promise<Reply> {
  try {
    const reply = await client.work(endpoint, { method: 'POST', path, body: { model, messages, ...fields } }, signal)
    const [choice] = readChunk(reply, { choices: 1 }).choices
    return { type: 'reply', text: choice?.text ?? '', isCut: choice?.finishReason === 'length' }
  } catch (error) {
    return failureOf(error, signal)
  }
}

/** `refused`: according to the server, the request is at fault. */
function failureOf(error: unknown, signal: AbortSignal): { readonly type: 'refused' | 'failed' } {
  signal.throwIfAborted()
  const isRefused = error instanceof UpstreamError && error.failure.type === 'status' && [400, 422].includes(error.failure.status)
  return { type: isRefused ? 'refused' : 'failed' }
}

/** Whether a nonsensical value is refused, which shows that it was read. */
async function refuses(probed: Probed, fields: Record<string, unknown>): Promise<boolean | undefined> {
  const { type } = await replyTo(probed, { [probed.profile.maxTokens]: 1, ...fields })
  return type === 'failed' ? undefined : type === 'refused'
}

async function passesPattern(probed: Probed): Promise<boolean | undefined> {
  const { regex, gbnf, maxTokens } = probed.profile
  const field = regex === undefined ? gbnf && fieldOf(gbnf, `root ::= "${word}"`) : fieldOf(regex, word)
  if (field === undefined) return undefined
  const reply = await replyTo(probed, { ...field, [maxTokens]: 6 })
  if (reply.type !== 'reply') return reply.type === 'refused' ? false : undefined
  const text = reply.text.trim()
  // A model that reasons may not have reached its answer.
  if (text === '') return reply.isCut ? undefined : false
  return reply.isCut ? word.startsWith(text) : text === word
}

function fieldOf(field: ConstraintField, value: string): Record<string, unknown> {
  if ('format' in field) return { response_format: { type: field.format, [field.key]: value } }
  return field.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>
}

async function passesTokenizer({ client, endpoint, model, profile, signal }: Probed): Promise<boolean | undefined> {
  if (profile.tokenizer !== 'vllm' && profile.tokenizer !== 'llama-server') return undefined
  try {
    const body = { model, prompt: word, content: word }
    await client.ask(endpoint, { method: 'POST', path: '/tokenize', fromRoot: true, body }, signal)
    return true
  } catch (error) {
    signal.throwIfAborted()
    const isMissing =
      error instanceof UpstreamError && error.failure.type === 'status' && [404, 405].includes(error.failure.status)
    return isMissing ? false : undefined
  }
}

async function passesRunningUsage({ client, endpoint, model, profile, signal }: Probed): Promise<boolean | undefined> {
  const stream_options = { include_usage: true, continuous_usage_stats: true }
  const body = { model, messages, [profile.maxTokens]: 2, stream: true, stream_options }
  let isCounted = false
  try {
    const { body: reply } = await client.stream(endpoint, { method: 'POST', path, body }, signal)
    await readStream(reply, (value) => {
      const { choices, usage } = readChunk(value, { choices: 1 })
      if (choices.length > 0 && usage !== undefined) isCounted = true
      return undefined
    })
    return isCounted
  } catch (error) {
    return failureOf(error, signal).type === 'refused' ? false : undefined
  }
}
