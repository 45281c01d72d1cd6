import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest, GenerationRequests, Message } from '../../contract/request.ts'
import { decodeResponse } from '../openai-responses/decode.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { decisionFields } from './fields.ts'
import { type Question, readQuestion } from './questions.ts'
import { type DecisionWire, decisionSchema } from './schema.ts'

const readBody = bodyReader(decisionSchema, decisionFields, unknownKeys(decisionSchema))

/** `top`: the most that servers of other kinds list. `topHere`: enough to include unlikely answers, for models that run here, and llama-server. */
const logprobs = { top: 20, topHere: 1000 }
/** The input of a decision contains nothing sealed. */
const noSealer = { seal: (text: string) => text, open: () => undefined }

export type DecodedDecisions = {
  /** One for each question, in order. */
  readonly requests: GenerationRequests
  readonly questions: readonly Question[]
  /** The reply has tabbyAPI's form. */
  readonly isTabby: boolean
  readonly temperature: number
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
}

/** Throws `invalid-request` or `unsupported-field`, with `param`. */
export function decodeDecisions(body: unknown, id: string): DecodedDecisions {
  const { wire, ignored: unknown } = readBody(body)
  const isTabby = wire.questions.some(({ question }) => typeof question === 'string')
  const questions = wire.questions.map((question, index) => readQuestion(question, `questions[${index}]`))
  if (isTabby) checkIds(questions)
  const { model, enable_thinking, template_vars, prompt_cache_key, safety_identifier } = wire
  const shared = { model, enable_thinking, template_vars, prompt_cache_key, safety_identifier, store: false }
  const input = inputOf(wire, isTabby)
  const context = { id, createdAtMs: 0, sealer: noSealer, history: [], items: [] }
  const { request, nameOf, ignored } = decodeResponse({ ...shared, input }, context)
  const { prompt } = request
  if (prompt.type !== 'chat') throw new Error('a response is a conversation')
  const requestFor = ({ text }: Question, index: number): GenerationRequest => ({
    ...request,
    id: index === 0 ? id : `${id}-${index}`,
    prompt: { ...prompt, messages: withQuestion(prompt.messages, text) },
    sampling: { temperature: 0 },
    maxOutputTokens: 1,
    logprobs,
    // Also sent to servers without such a switch.
    reasoning: enable_thinking === true ? request.reasoning : { enabled: false, isWish: true },
  })
  const [first, ...rest] = questions.map(requestFor)
  if (first === undefined) throw new Error('there is at least one question')
  return {
    requests: [first, ...rest],
    questions,
    isTabby,
    temperature: wire.temperature ?? 1,
    ignored: [...unknown, ...ignored],
    nameOf: (path) => (path[0] === 'logprobs' ? 'questions' : nameOf(path)),
  }
}

/** tabbyAPI shows anything but text as JSON, and answers by id. */
function inputOf({ input }: DecisionWire, isTabby: boolean): unknown {
  if (typeof input === 'string') return input
  return isTabby ? JSON.stringify(input) : Array.isArray(input) ? input.map(withJsonAsText) : input
}

function checkIds(questions: readonly Question[]): void {
  const seen = new Set<string>()
  for (const [index, { name }] of questions.entries()) {
    const param = `questions[${index}].id`
    if (name === null)
      throw new AppError('invalid-request', `${param} is missing: answers have the ids of their questions`, { param })
    if (seen.has(name)) throw new AppError('invalid-request', `${param} is that of another question`, { param })
    seen.add(name)
  }
}

/** Responses have no part type for JSON. */
function withJsonAsText(item: unknown): unknown {
  const { content } = (typeof item === 'object' && item !== null ? item : {}) as { readonly content?: unknown }
  if (!Array.isArray(content)) return item
  return {
    ...(item as object),
    content: content.map((part) => (isJson(part) ? { type: 'input_text', text: JSON.stringify(part.data) } : part)),
  }
}

function isJson(part: unknown): part is { readonly data: unknown } {
  return typeof part === 'object' && part !== null && Reflect.get(part, 'type') === 'input_json' && 'data' in part
}

/** The question extends the user's last turn: many templates refuse two in a row. */
function withQuestion(messages: readonly Message[], text: string): readonly Message[] {
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [{ type: 'text', text }] }]
  const end = last.content.at(-1)
  const content =
    end?.type === 'text'
      ? [...last.content.slice(0, -1), { ...end, text: `${end.text}\n\n${text}` }]
      : [...last.content, { type: 'text', text } as const]
  return [...messages.slice(0, -1), { ...last, content }]
}
