import { parseObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import { isTruncated } from '../../contract/is-truncated.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { Choice, ReplyPart } from '../../contract/result.ts'
import { losesDigits, RawJson } from './json/exact-json.ts'

/**
 * The arguments of an earlier call as JSON text. Missing arguments, which clients send for tools without parameters, are an empty object:
 * absent, null, an empty text, the text `null`, or an empty list, which PHP writes for an empty object.
 */
export function callInput(given: string | object | null | undefined): string {
  if (typeof given === 'string') return /^\s*((null|\[\s*\])\s*)?$/.test(given) ? '{}' : given
  return JSON.stringify(given ?? {})
}

/** The arguments of a call as an object, with the digits that the model wrote. Throws `invalid-output` for anything else. */
export function callObject(name: string, input: string): JsonObject {
  const value = objectOf(input)
  if (value === undefined) throw unreadableCall(name)
  // Only written: as the text of an object.
  return losesDigits(input) ? (new RawJson(input) as object as JsonObject) : value
}

export function isReadable(input: string): boolean {
  return objectOf(input) !== undefined
}

/** The parts of a reply without a truncated last call, whose arguments are not an object. The finish reason says why it is missing. */
export function withoutCutCall({ parts, finish }: Pick<Choice, 'parts' | 'finish'>): readonly ReplyPart[] {
  const last = parts.at(-1)
  const isCut = isTruncated(finish) && last?.type === 'tool-call' && !isReadable(last.input)
  return isCut ? parts.slice(0, -1) : parts
}

function objectOf(input: string): JsonObject | undefined {
  return parseObject(input === '' ? '{}' : input)
}

/** The failure of a call whose arguments cannot be encoded for the client. */
export function unreadableCall(name: string): AppError {
  return new AppError('invalid-output', `the model called '${name}' with arguments that are not a JSON object; try again`)
}
