import { parseObject } from '../base/json.ts'

/**
 * The arguments of an earlier call as the JSON of an object: servers parse them, and refuse anything else that a model wrote. Such a text
 * is wrapped in an object.
 */
export function objectText(input: string): string {
  if (input === '') return '{}'
  return parseObject(input) === undefined ? JSON.stringify({ input }) : input
}
