import type { JsonObject } from './request.ts'

/** Checks output against JSON Schemas, within a time limit of its own. Neither method throws. */
export interface Validator {
  /** Whether output can be checked against this schema; undefined: not known within the time limit. */
  canCheck(schema: JsonObject | boolean): Promise<boolean | undefined>
  /** What is wrong with a text by this schema, in words; undefined when it is valid JSON of the schema. */
  check(schema: JsonObject | boolean, text: string): Promise<string | undefined>
}
