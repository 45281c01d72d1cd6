import { isObject, parseJson } from '../../base/json.ts'
import type { ToolCallState } from '../../contract/request.ts'

/** The rest of a text, and how the arguments were read; without `state`, they are exactly `{"input": "…"}`. */
export type Ending = { readonly delta: string; readonly state?: Exclude<ToolCallState, 'ok'> }

type Streamed = {
  /** The text of the string, already sent. */
  readonly text: string
  /** The input after the string. */
  readonly tail: string
}

/** The end of arguments that began with `{"input": "…"`. */
export function readStreamed(json: string, { text, tail }: Streamed): Ending {
  const value = parseJson(json)
  if (isObject(value)) return isInputOnly(value) && value.input === text ? { delta: '' } : { delta: '', state: 'repaired' }
  // The closing brace is missing, or the string has a line break or an escape that JSON does not allow.
  const isComplete = /^\s*\}?\s*$/.test(tail)
  return { delta: '', state: isComplete ? 'repaired' : 'unparseable' }
}

/** The text of arguments of another shape: the only string in them, or the arguments themselves. */
export function readHeld(json: string): Ending {
  const value = parseJson(json)
  if (typeof value === 'string') return { delta: value, state: 'repaired' }
  if (!isObject(value)) return { delta: json, state: 'unparseable' }
  if (isInputOnly(value)) return { delta: value.input }
  const { input } = value
  if (input !== undefined) return { delta: typeof input === 'string' ? input : JSON.stringify(input), state: 'repaired' }
  const [only, ...others] = Object.values(value)
  if (others.length > 0) return { delta: json, state: 'unparseable' }
  if (only === undefined) return { delta: '', state: 'repaired' }
  return typeof only === 'string' ? { delta: only, state: 'repaired' } : { delta: json, state: 'unparseable' }
}

function isInputOnly(value: Readonly<Record<string, unknown>>): value is { readonly input: string } {
  return typeof value.input === 'string' && Object.keys(value).length === 1
}
