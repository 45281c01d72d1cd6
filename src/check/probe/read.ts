import { isObject } from '../../base/json.ts'
import type { Exchange, StreamEvent } from './exchange.ts'

/** Reads what may have any form: undefined for what is not there. */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((found, key) => {
    if (Array.isArray(found)) return found.at(Number(key))
    return isObject(found) ? found[key] : undefined
  }, value)
}

export const textAt = (value: unknown, path: string) => asText(at(value, path))
export const numberAt = (value: unknown, path: string) => asNumber(at(value, path))
export const listAt = (value: unknown, path: string) => asList(at(value, path))
const asText = (value: unknown) => (typeof value === 'string' ? value : undefined)
const asNumber = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The JSON of the events of a stream, without `[DONE]`. */
export const partsOf = ({ events }: Exchange): readonly unknown[] =>
  events.filter(({ data }) => data !== '[DONE]').map(({ json }) => json)

/** The texts at a path of each event, joined. */
export const joined = (exchange: Exchange, path: string): string =>
  partsOf(exchange)
    .map((part) => textAt(part, path) ?? '')
    .join('')

/** The text of a chat completion, thoughts included, whole or streamed. */
export function chatText(exchange: Exchange): string {
  const [place, value] = exchange.events.length > 0 ? ['delta', undefined] : ['message', exchange.json]
  const names = ['content', 'reasoning_content', 'reasoning'] as const
  const read = (name: string) =>
    value === undefined ? joined(exchange, `choices.0.${place}.${name}`) : (textAt(value, `choices.0.${place}.${name}`) ?? '')
  // Some servers send reasoning under both names.
  return (read(names[1]) || read(names[2])) + read(names[0])
}

/** The answer of a chat completion, without thoughts. */
export function chatContent(exchange: Exchange): string {
  const isStream = exchange.events.length > 0
  return isStream ? joined(exchange, 'choices.0.delta.content') : (textAt(exchange.json, 'choices.0.message.content') ?? '')
}

export function finishOf(exchange: Exchange): unknown {
  if (exchange.events.length === 0) return at(exchange.json, 'choices.0.finish_reason')
  return partsOf(exchange)
    .map((part) => at(part, 'choices.0.finish_reason'))
    .findLast((reason) => reason !== null && reason !== undefined)
}

export type Call = { readonly id: string | undefined; readonly name: string; readonly arguments: string }

/** The calls of a chat completion, whole or joined from its deltas. */
export function callsOf(exchange: Exchange): readonly Call[] {
  if (exchange.events.length === 0) {
    return listAt(exchange.json, 'choices.0.message.tool_calls').map((call) => ({
      id: textAt(call, 'id'),
      name: textAt(call, 'function.name') ?? '',
      arguments: textAt(call, 'function.arguments') ?? '',
    }))
  }
  const calls = new Map<unknown, { id: string | undefined; name: string; arguments: string }>()
  for (const delta of partsOf(exchange).flatMap((part) => listAt(part, 'choices.0.delta.tool_calls'))) {
    const index = at(delta, 'index')
    const call = calls.get(index) ?? { id: undefined, name: '', arguments: '' }
    calls.set(index, call)
    call.id ??= textAt(delta, 'id')
    call.name += textAt(delta, 'function.name') ?? ''
    call.arguments += textAt(delta, 'function.arguments') ?? ''
  }
  return [...calls.values()]
}

export type Counts = { readonly input: number | undefined; readonly output: number | undefined }

/** The counts of tokens that a reply says, in any protocol. */
export function usageIn(exchange: Exchange): Counts {
  const values = exchange.events.length > 0 ? partsOf(exchange) : [exchange.json]
  const last = (...paths: readonly string[]) =>
    values.flatMap((value) => paths.map((path) => numberAt(value, path))).findLast((found) => found !== undefined)
  return {
    input: last(
      'message.usage.input_tokens',
      'usage.prompt_tokens',
      'usage.input_tokens',
      'response.usage.input_tokens',
      'prompt_eval_count',
    ),
    output: last('usage.completion_tokens', 'usage.output_tokens', 'response.usage.output_tokens', 'eval_count'),
  }
}

/**
 * How two texts of the same deterministic request differ. `edited`: one has a piece that the other lacks, or broken characters: text was
 * lost or repeated on its way. `other`: the model has written something else.
 */
export function differenceOf(wanted: string, found: string): 'none' | 'edited' | 'other' {
  if (wanted === found) return 'none'
  if (found.includes('\ufffd') && !wanted.includes('\ufffd')) return 'edited'
  const [shorter, longer] = wanted.length < found.length ? [wanted, found] : [found, wanted]
  return isPartOf(shorter, longer) ? 'edited' : 'other'
}

/** Whether a text has all characters of another one in their order. */
function isPartOf(shorter: string, longer: string): boolean {
  let place = 0
  for (const character of longer) if (character === shorter[place]) place += 1
  return place >= shorter.length
}

/** The first event whose name is not its type. */
export function faultOfNames({ events }: Exchange): string | undefined {
  const odd = events.find(({ name, json }) => json !== undefined && name !== at(json, 'type'))
  return odd === undefined ? undefined : `an event ${at(odd.json, 'type')} has the name ${odd.name}`
}

/** The first event that is not JSON, nor the sign of the end. */
export const brokenEvent = ({ events }: Exchange): StreamEvent | undefined =>
  events.find(({ data, json }) => json === undefined && data !== '[DONE]')
