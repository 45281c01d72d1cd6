import type { OutputFormat } from '../../../contract/output-format.ts'
import type { FunctionTool } from '../../../contract/request.ts'
import type { ToolFormatName } from '../../formats/format-names.ts'

/** A number whose digits matter: `1.0` is not `1`. */
export type Digits = { readonly digits: string }
export type Value = string | number | bigint | boolean | null | Digits | readonly Value[] | { readonly [key: string]: Value }
export type Arguments = { readonly [key: string]: Value }
export type WrittenCall = { readonly name: string; readonly arguments: Arguments }

/** What one text of a model has to become. */
export type OutputCase = {
  readonly name: string
  readonly raw: string
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: readonly ExpectedCall[]
  /** A limit ended the text. */
  readonly truncated?: boolean
  /** The prompt ended inside reasoning. */
  readonly startsInReasoning?: boolean
}

/** A call's name, its arguments as JSON, and what is known of how they parsed. */
export type ExpectedCall = {
  readonly name: string
  readonly arguments: string
  readonly id?: string
  readonly state?: 'repaired' | 'unparseable'
}

/** The parts of an answer. */
export type Answer = {
  readonly thought?: string
  readonly text?: string
  readonly calls: readonly WrittenCall[]
  readonly after?: string
}

/** How one family of models writes, as its chat template shows. */
export type Family = {
  readonly format: ToolFormatName
  readonly reasoning?: NonNullable<OutputFormat['reasoning']>
  /** The text of these calls, with whatever is around them. */
  write(calls: readonly WrittenCall[]): string
  /** Only a name says that a call begins, so that it must be spelled as expected. */
  readonly namesFirst?: boolean
  /** A line break stands between text and calls, and is text. */
  readonly ownLine?: boolean
  /** The whole answer, where its parts are not simply joined. */
  answer?(answer: Answer): string
  /** Texts that mean something in this format, and must not in a string. */
  readonly marks: readonly string[]
  /** Scenarios that the format cannot express, with the reason. */
  readonly except?: { readonly [scenario: string]: string }
  readonly cases: readonly OutputCase[]
}

/** The tools that cases call. */
export const tools: readonly FunctionTool[] = [
  {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer' },
        ratio: { type: 'number' },
        detailed: { type: 'boolean' },
        options: {
          type: 'object',
          properties: {
            metric: { type: 'boolean' },
            note: { type: 'string' },
            ranges: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
          },
        },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['city'],
    },
  },
  { name: 'now', parameters: { type: 'object', properties: {} } },
  { name: 'search', parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] } },
]

function isDigits(value: Value): value is Digits {
  return typeof value === 'object' && value !== null && 'digits' in value
}

/** JSON as Python's `json.dumps` writes it, letters unescaped. */
export function json(value: Value): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isDigits(value)) return value.digits
  if (Array.isArray(value)) return `[${value.map(json).join(', ')}]`
  return `{${members(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${json(member)}`)
    .join(', ')}}`
}

/** A value as Python's `repr` writes it. */
export function python(value: Value): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return String(value)
  if (isDigits(value)) return value.digits
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`
  return `{${members(value)
    .map(([key, member]) => `${quoted(key)}: ${python(member)}`)
    .join(', ')}}`
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll(quote, `\\${quote}`)
  return quote + escaped + quote
}

/** A value as templates print it between tags: strings as they are, everything else as JSON. */
export function bare(value: Value): string {
  return typeof value === 'string' ? value : json(value)
}

export function members(value: Value): [string, Value][] {
  return Object.entries(value as Arguments)
}

/** JSON without the white space between its tokens and with strings in one spelling; the digits of numbers stay. */
export function compactJson(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/gs, (token) => (token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : ''))
}
