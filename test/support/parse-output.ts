import { expect } from 'vitest'
import type { FinishReason, GenerationEvent } from '../../src/contract/event.ts'
import { isTruncated } from '../../src/contract/is-truncated.ts'
import type { OutputFormat } from '../../src/contract/output-format.ts'
import type { FunctionTool, ToolCallPart } from '../../src/contract/request.ts'
import { createOutputParser, type OutputParserOptions } from '../../src/model-text/parse/output-parser.ts'
import { roundsOf } from './process/soak-length.ts'
import { createRandom } from './random.ts'

export const think = { open: '<think>\n', close: '\n</think>\n\n' }
export const hermes: OutputFormat = { toolFormat: 'hermes', reasoning: think, startsInReasoning: false }
export const tools: readonly FunctionTool[] = [
  {
    name: 'f',
    parameters: {
      type: 'object',
      properties: {
        n: { type: 'integer' },
        s: { type: 'string' },
        either: { anyOf: [{ type: 'number' }, { type: 'string' }] },
        list: { type: 'array', items: { type: 'number' } },
      },
    },
  },
  { name: 'g', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
]

type ParsedCall = {
  id: string
  name: string
  arguments: string
  state?: ToolCallPart['state']
  raw?: ToolCallPart['raw']
}

export type ParsedOutput = {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly ParsedCall[]
  readonly events: readonly GenerationEvent[]
}

/** Feeds the pieces to a parser and joins what comes out, checking that every block is opened and closed in order. */
export function parseOutput(
  options: OutputParserOptions,
  chunks: readonly string[],
  reason: FinishReason = 'stop',
): ParsedOutput {
  let ids = 0
  const parser = createOutputParser({ makeCallId: () => `call_${ids++}`, ...options })
  const events = chunks.flatMap((text) => parser.push({ type: 'raw-text', choice: 0, text }))
  events.push(...parser.end(0, isTruncated({ reason })))
  return { ...joinEvents(events), events }
}

/** The same however it is cut; the tools and the format are the ones above, unless others are given. */
export function parse(raw: string, options: OutputParserOptions = {}, reason: 'stop' | 'length' = 'stop') {
  const results = chunkings(raw, { rounds: roundsOf(2, 5) }).map((chunks) =>
    parseOutput({ format: hermes, tools, ...options }, chunks, reason),
  )
  const [{ events: _, ...first } = { events: [] }] = results
  for (const { events: __, ...result } of results) expect(result).toEqual(first)
  return first as Omit<(typeof results)[number], 'events'>
}

/** What the events say, put together. */
export function joinEvents(events: readonly GenerationEvent[]): Omit<ParsedOutput, 'events'> {
  const joined = { text: '', reasoning: '', calls: [] as ParsedCall[] }
  let open: string | undefined
  const step = (wanted: string | undefined, next: string | undefined) => {
    if (open !== wanted) throw new Error(`'${open}' was open where '${wanted}' should be`)
    open = next
  }
  for (const event of events) {
    switch (event.type) {
      case 'text-start':
      case 'reasoning-start':
        step(undefined, event.type)
        break
      case 'text-end':
      case 'reasoning-end':
        step(event.type.replace('end', 'start'), undefined)
        break
      case 'text-delta':
        step('text-start', 'text-start')
        joined.text += event.delta
        break
      case 'reasoning-delta':
        step('reasoning-start', 'reasoning-start')
        joined.reasoning += event.delta
        break
      case 'tool-call-start':
        step(undefined, event.id)
        joined.calls.push({ id: event.id, name: event.name, arguments: '' })
        break
      case 'tool-call-delta': {
        step(event.id, event.id)
        const call = joined.calls.at(-1)
        if (call !== undefined) call.arguments += event.delta
        break
      }
      case 'tool-call-end':
        step(event.id, undefined)
        Object.assign(joined.calls.at(-1) as ParsedCall, {
          ...(event.state !== undefined && { state: event.state }),
          ...(event.raw !== undefined && { raw: event.raw }),
        })
        break
      default:
        throw new Error(`a parser made the event ${event.type}`)
    }
  }
  if (open !== undefined) throw new Error(`'${open}' was left open`)
  return joined
}

/** Ways to cut a text: whole, letter by letter, at every single place if it is short, and at random places. */
export function chunkings(text: string, { rounds = roundsOf(6, 20) } = {}): readonly (readonly string[])[] {
  const cuts: number[][] = [[], Array.from({ length: text.length }, (_, index) => index)]
  if (text.length <= roundsOf(80, 160)) for (let at = 1; at < text.length; at++) cuts.push([at])
  const random = createRandom(text.length + 1)
  for (let round = 0; round < rounds; round++) {
    cuts.push(Array.from({ length: 1 + (round % 12) }, () => Math.floor(random() * text.length)))
  }
  return cuts.map((places) => cutAt(text, places))
}

/** A text cut at these places. */
export function cutAt(text: string, places: readonly number[]): readonly string[] {
  const points = [...new Set([0, ...places.filter((at) => at < text.length), text.length])].sort((a, b) => a - b)
  return points.slice(1).map((point, index) => text.slice(points[index], point))
}
