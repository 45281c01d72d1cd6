import { LruMap } from '../../base/lru-map.ts'
import { compileJinja } from '../../jinja/jinja-template.ts'
import type { Limits } from '../../jinja/values/budget.ts'

/** The facts about a model's output in a template's own variables, as in templates for tabbyAPI. */
export type TemplateMetadata = {
  /** `stop_strings`: texts that end the model's turn. */
  readonly stops: readonly string[]
  /** `tool_start`, `tool_end`: the tags around calls. */
  readonly toolStart?: string
  readonly toolEnd?: string
  /** `tool_call_format`. */
  readonly callFormat?: 'json' | 'xml' | 'auto'
}

const names = ['stop_strings', 'tool_start', 'tool_end', 'tool_call_format'] as const
const mentioned = new RegExp(`\\b(?:${names.join('|')})\\b`)
const none: TemplateMetadata = { stops: [] }

/** Read wherever a template is, and a template may loop: so less than for a prompt. */
const limits: Limits = { steps: 200_000, memory: 1 << 22 }
/** No real template has more, or longer ones. */
const max = { stops: 32, length: 256 }

const known = new LruMap<string, TemplateMetadata>({ max: 16 })

/** The metadata of a chat template; for one that fails to render, the values set before the failure. */
export function readTemplateMetadata(source: string): TemplateMetadata {
  return mentioned.test(source) ? known.find(source, () => read(source)) : none
}

function read(source: string): TemplateMetadata {
  const { stop_strings: stops, tool_start: start, tool_end: end, tool_call_format: format } = assignedIn(source)
  const isText = (value: unknown): value is string =>
    typeof value === 'string' && value.trim() !== '' && value.length <= max.length
  return {
    stops: Array.isArray(stops) ? stops.filter(isText).slice(0, max.stops) : [],
    ...(isText(start) && { toolStart: start }),
    ...(isText(end) && { toolEnd: end }),
    ...((format === 'json' || format === 'xml' || format === 'auto') && { callFormat: format }),
  }
}

/** Values may depend on the conversation: these are for one with a tool. */
function assignedIn(source: string): Readonly<Record<string, unknown>> {
  const parameters = { type: 'object', properties: {} }
  const tools = [{ type: 'function', function: { name: 'f', description: '', parameters } }]
  const messages = [{ role: 'user', content: '' }]
  const variables = { messages, tools, functions: tools, add_generation_prompt: true, bos_token: '', eos_token: '' }
  try {
    return compileJinja(source, { rules: 'llama.cpp' }).readAssigned(names, variables, limits)
  } catch {
    // A template that does not parse fails the requests that need it.
    return {}
  }
}
