import { isObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import {
  type ChatPrompt,
  type GenerationRequest,
  type Message,
  type Prompt,
  plainChat,
  plainRequest,
} from '../../contract/request.ts'
import { joinFaults } from '../wire/invalid.ts'
import { preview } from '../wire/preview.ts'
import { findFaults } from '../wire/validate.ts'
import { requestSchema, type StatedRequest } from './request-schema.ts'

/** A conversation of a program; what it leaves out is as in `plainChat`. */
export type ChatInput = Partial<ChatPrompt> & Pick<ChatPrompt, 'type' | 'messages'>

/** A text, a conversation, or any prompt in canonical form; other fields have the defaults of `plainRequest`. */
export type GenerateInput = Partial<Omit<StatedRequest, 'prompt' | 'model'>> & {
  /** The id or an alias of a model. */
  readonly model: string
  readonly prompt: string | readonly Message[] | ChatInput | Exclude<Prompt, { readonly type: 'chat' }>
}

/**
 * The request of a program in this process, with `id` unless it names one. Throws `invalid-request` with every wrong field, and the first as
 * `at`, as the public protocols do.
 */
export function decodeInput(input: GenerateInput, id: string): GenerationRequest {
  const { prompt, ...rest } = given<Partial<GenerateInput>>(isObject(input) ? input : {})
  const request = { ...plainRequest, id, ...rest, prompt: toPrompt(prompt) }
  const read = requestSchema.safeParse(request)
  if (!read.success) {
    const faults = findFaults(requestSchema, request)
    throw invalidAt(faults[0]?.path as CanonicalPath | undefined, joinFaults(faults.map(({ message }) => message)))
  }
  refuseContradictions(read.data)
  return read.data
}

function toPrompt(prompt: unknown): unknown {
  if (typeof prompt === 'string') return { type: 'text', text: prompt }
  if (Array.isArray(prompt)) return { type: 'chat', ...plainChat, messages: prompt }
  return isObject(prompt) && prompt.type === 'chat' ? { ...plainChat, ...prompt } : prompt
}

/** The levels of a request above the JSON of its tools and schemas. */
const ownLevels = 8

/** A value without fields that are undefined: programs pass on options that they do not have. */
function given<T>(value: T, levels = ownLevels): T {
  if (levels === 0) return value
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => given(item, levels - 1))
    return items.some((item, index) => item !== value[index]) ? (items as T) : value
  }
  if (!isPlain(value)) return value
  const fields = Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : [[name, given(field, levels - 1)]]))
  const isSame = fields.length === Object.keys(value).length && fields.every(([name, field]) => value[name as string] === field)
  return isSame ? value : Object.fromEntries(fields)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return isObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value))
}

function refuseContradictions(request: StatedRequest): void {
  const { prompt, toolChoice, toolUse, choices, maxOutputTokens, minOutputTokens = 0, promptTokens } = request
  if (maxOutputTokens === 0 && promptTokens === undefined) {
    throw invalidAt(['maxOutputTokens'], 'maxOutputTokens: expected at least 1 without promptTokens, got 0')
  }
  if (minOutputTokens > (maxOutputTokens ?? Number.POSITIVE_INFINITY)) {
    const message = `minOutputTokens ${minOutputTokens} is more than maxOutputTokens, which is ${maxOutputTokens}`
    throw invalidAt(['minOutputTokens'], message)
  }
  if (toolUse !== undefined && (prompt.type !== 'chat' || choices > 1)) {
    throw invalidAt(['toolUse'], 'toolUse: the server runs tools only for conversations, and for one choice')
  }
  const tools = prompt.type === 'chat' ? [...prompt.tools, ...(prompt.otherTools ?? [])] : []
  if (toolUse === undefined)
    refuseUndeclared(
      toolChoice,
      tools.map(({ name }) => name),
    )
  if (prompt.type === 'chat') refuseOddChat(prompt)
}

function refuseUndeclared(choice: StatedRequest['toolChoice'], declared: readonly string[]): void {
  if (choice.type === 'required' && declared.length === 0) {
    throw invalidAt(['toolChoice'], "toolChoice: 'required' needs tools in the prompt, and there are none")
  }
  const unknown = choice.type === 'none' ? undefined : choice.names?.find((name) => !declared.includes(name))
  if (unknown === undefined) return
  const message = `toolChoice names ${preview(unknown)}, which is not declared; the tools of the prompt are ${preview(declared)}`
  throw invalidAt(['toolChoice'], message)
}

function refuseOddChat({ messages, tools, start, responsePrefix }: ChatPrompt): void {
  for (const [index, { name }] of tools.entries()) {
    const first = tools.findIndex((tool) => tool.name === name)
    if (first === index) continue
    const message = `prompt.tools[${index}].name ${preview(name)} is also prompt.tools[${first}].name: names must differ`
    throw invalidAt(['prompt', 'tools', index, 'name'], message)
  }
  const last = messages.at(-1)?.role
  if (start === 'last-message' && last !== 'assistant') {
    const message = `prompt.start 'last-message' continues an assistant's message, and the last one has the role '${last}'`
    throw invalidAt(['prompt', 'start'], message)
  }
  if (responsePrefix !== '' && start !== 'new-turn') {
    const message = `prompt.responsePrefix begins a new answer, and prompt.start '${start}' begins none: leave one of them out`
    throw invalidAt(['prompt', 'responsePrefix'], message)
  }
}

function invalidAt(at: CanonicalPath | undefined, message: string): AppError {
  return new AppError('invalid-request', message, at === undefined || at.length === 0 ? {} : { at })
}
