import type { CanonicalPath } from './field.ts'
import type { CustomTool, JsonObject } from './request.ts'

/** A grammar of texts: for a custom tool's input, or for a whole output. */
export type TextGrammar = NonNullable<CustomTool['grammar']> | { readonly syntax: 'gbnf'; readonly definition: string }

/** Validates output against JSON Schemas, within its own time limit. */
export interface Validator {
  /** Whether the schema is supported; undefined after the time limit. Does not throw. */
  canCheck(schema: JsonObject | boolean): Promise<boolean | undefined>
  /** A description of what is wrong with a text; undefined for valid JSON of the schema. Does not throw. */
  check(schema: JsonObject | boolean, text: string): Promise<string | undefined>
  /**
   * The JSON Schema of the strings that a grammar allows, with keywords that only our grammars know. Rejects with `invalid-request` or
   * `unsupported-field`, at `place`, for an unusable grammar, and with the signal's reason.
   */
  inputSchema(grammar: TextGrammar, options: { readonly place: CanonicalPath; readonly signal: AbortSignal }): Promise<JsonObject>
}
