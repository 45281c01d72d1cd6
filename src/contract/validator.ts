import type { JsonObject } from './request.ts'

/** Validates output against JSON Schemas, within its own time limit. Neither method throws. */
export interface Validator {
  /** Whether the schema is supported; undefined after the time limit. */
  canCheck(schema: JsonObject | boolean): Promise<boolean | undefined>
  /** What is wrong with a text, in words; undefined for valid JSON of the schema. */
  check(schema: JsonObject | boolean, text: string): Promise<string | undefined>
}
