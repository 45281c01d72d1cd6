import { isObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest, JsonObject } from '../../contract/request.ts'
import { renameField } from '../lm-studio/rename-field.ts'
import { decodeChat } from '../openai-chat/decode.ts'
import { decodeCompletion } from '../openai-completions/decode.ts'
import { preview } from '../wire/preview.ts'
import { type History, type KvStack, settingsOf } from './messages.ts'
import { pictureUrl } from './pictures.ts'

type Decoded = { readonly request: GenerationRequest; readonly nameOf: NameOf }

/** The settings that are fields of OpenAI's protocols; the value of some is `{ checked, value }`. */
const fields: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  maxPredictedTokens: 'max_tokens',
  topKSampling: 'top_k',
  topPSampling: 'top_p',
  minPSampling: 'min_p',
  repeatPenalty: 'repeat_penalty',
  'llama.frequencyPenalty': 'frequency_penalty',
  'llama.presencePenalty': 'presence_penalty',
  'llama.xtcProbability': 'xtc_probability',
  'llama.xtcThreshold': 'xtc_threshold',
  stopStrings: 'stop',
  seed: 'seed',
}
const keyOf = new Map(Object.entries(fields).map(([key, field]) => [field, key]))
const prefix = 'llm.prediction.'

/** A conversation, or the text that its template joins. */
export function decodePredict(model: string, { history, predictionConfigStack }: Predict, id: string): Decoded {
  const settings = settingsOf(predictionConfigStack)
  const template = templateOf(settings)
  if (template === undefined) {
    const body = { model, messages: history.messages.flatMap(toMessages), return_progress: true, ...toFields(settings) }
    return inKeys(() => decodeChat(body, id))
  }
  const text = history.messages.flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : ''))).join('')
  return decodeRaw(model, { rawPrompt: text, predictionConfigStack }, id)
}

type Predict = { readonly history: History; readonly predictionConfigStack: KvStack }
type Raw = { readonly rawPrompt: string; readonly predictionConfigStack: KvStack }

/** A text to continue. */
export function decodeRaw(model: string, { rawPrompt, predictionConfigStack }: Raw, id: string): Decoded {
  const { tools: _, ...known } = toFields(settingsOf(predictionConfigStack))
  const body = { model, prompt: rawPrompt, max_tokens: -1, return_progress: true, ...known }
  return inKeys(() => {
    const { requests, nameOf } = decodeCompletion(body, id)
    return { request: requests[0], nameOf }
  })
}

/** Failures name the settings. */
function inKeys(decode: () => Decoded): Decoded {
  const keyed = (field: string) => keyOf.get(field) ?? field
  try {
    const { request, nameOf } = decode()
    return { request, nameOf: (path) => keyed(nameOf(path)) }
  } catch (error) {
    throw renameField(AppError.from(error), keyed)
  }
}

function toFields(settings: ReadonlyMap<string, unknown>): JsonObject {
  const result: Record<string, unknown> = {}
  for (const [key, given] of settings) {
    if (!key.startsWith(prefix)) continue
    const name = key.slice(prefix.length)
    const field = fields[name]
    const value = isObject(given) && 'checked' in given ? (given.checked === true ? given.value : undefined) : given
    if (field !== undefined) result[field] = value
    else if (name === 'structured') Object.assign(result, toFormat(key, value))
    else if (name === 'tools') Object.assign(result, toTools(key, value))
    else if (name === 'logProbs' && typeof value === 'number' && value > 0)
      throw refused(key, value, 'ask for log-probabilities over chat completions')
    else if (name === 'toolCallStopStrings' && Array.isArray(value) && value.length > 0)
      throw refused(key, value, 'send "stopStrings", which end the whole output')
    else if (name === 'contextOverflowPolicy' && value !== 'stopAtLimit')
      throw refused(key, value, 'a conversation is never truncated: send "stopAtLimit"')
  }
  return result
}

function toFormat(key: string, value: unknown): JsonObject {
  const { type, jsonSchema, gbnfGrammar } = Object(value)
  switch (type) {
    case undefined:
    case 'none':
      return {}
    case 'json': {
      const schema = { name: 'output', schema: jsonSchema, strict: true }
      return {
        response_format: jsonSchema === undefined ? { type: 'json_object' } : { type: 'json_schema', json_schema: schema },
      }
    }
    case 'gbnf':
      return { grammar: gbnfGrammar }
    default:
      throw refused(key, type, 'send a type "json", "gbnf" or "none"')
  }
}

function toTools(key: string, value: unknown): JsonObject {
  const { type, tools, force } = Object(value)
  if (type === undefined || type === 'none') return {}
  if (type !== 'toolArray') throw refused(key, type, 'send a type "toolArray" or "none"')
  return { tools, ...(force === true && { tool_choice: 'required' }) }
}

/** The template that only joins the messages, which both SDKs send for a text to continue; undefined without one. */
function templateOf(settings: ReadonlyMap<string, unknown>): string | undefined {
  const key = `${prefix}promptTemplate`
  const given = Object(settings.get(key))
  if (given.type === undefined) return undefined
  const template = given.jinjaPromptTemplate?.template
  if (given.type === 'jinja' && typeof template === 'string' && joinsOnly.test(template.trim())) return template
  throw refused(key, template ?? given.type, 'the chat template of the model is used: leave it out')
}

const joinsOnly = /^\{%-? for (\w+) in messages -?%\}\{\{-? \1(?:\.content|\[["']content["']\]) -?\}\}\{%-? endfor -?%\}$/

function refused(key: string, value: unknown, remedy: string): AppError {
  return new AppError('unsupported-field', `${key} ${preview(value)} is not supported: ${remedy}`, { param: key })
}

/** The messages of a turn: each result of a tool is one. */
function toMessages({ role, content }: History['messages'][number]): readonly JsonObject[] {
  switch (role) {
    case 'system':
      return [{ role, content: textOf(content) }]
    case 'user':
      return [
        {
          role,
          content: content.flatMap((part): readonly JsonObject[] => {
            if (part.type === 'text') return [{ type: 'text', text: part.text }]
            return part.type === 'file' ? [{ type: 'image_url', image_url: { url: pictureUrl(part.identifier) } }] : []
          }),
        },
      ]
    case 'assistant': {
      const calls = content.flatMap((part) => (part.type === 'toolCallRequest' ? [part.toolCallRequest] : []))
      const tool_calls = calls.map(({ id, name, arguments: args }) => ({
        ...(typeof id === 'string' && { id }),
        type: 'function',
        function: { name, arguments: JSON.stringify(args ?? {}) },
      }))
      return [{ role, content: textOf(content), ...(tool_calls.length > 0 && { tool_calls }) }]
    }
    case 'tool':
      return content.flatMap((part) =>
        part.type === 'toolCallResult'
          ? [{ role, content: part.content, ...(typeof part.toolCallId === 'string' && { tool_call_id: part.toolCallId }) }]
          : [],
      )
  }
}

function textOf(content: History['messages'][number]['content']): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
