import { parseJson } from '../../base/json.ts'
import type { PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { JsonObject, OutputConstraint } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'

/** Validates the text of each choice of one request, where no grammar guarantees it. */
export type OutputCheck = {
  /** False: the constraint is not supported, and the text is at most checked to be JSON. */
  readonly isComplete: boolean
  observe(event: GenerationEvent): void
  /** Throws `invalid-output` for a text that does not satisfy the constraint; a truncated one is only validated if it is JSON. */
  validate(choice: number, truncated: boolean): Promise<void>
}

/** Structures within a text are not validated. */
type Constraint = Exclude<OutputConstraint, { type: 'text' | 'tagged' }>

/** Whether the output may break its constraint. */
export function needsOutputCheck(
  output: OutputConstraint,
  { structured, constraintIsSent }: PreparedGeneration,
): output is Constraint {
  return output.type !== 'text' && output.type !== 'tagged' && (structured === 'partial' || constraintIsSent === true)
}

/** Undefined if nothing can be checked. Rejects with the signal's reason. */
export async function createOutputCheck(
  validator: Validator | undefined,
  output: Constraint,
  signal: AbortSignal,
): Promise<OutputCheck | undefined> {
  if (validator === undefined) return undefined
  const wanted = await schemaOf(output, validator, signal)
  // Undefined is a timeout: the text is checked anyway, and fails if that times out again, rather than pass unchecked.
  const isComplete = wanted !== undefined && (await validator.canCheck(wanted)) !== false
  const isText = output.type === 'regex' || output.type === 'gbnf'
  if (isText && !isComplete) return undefined
  const schema = isComplete ? wanted : true
  const texts = new Map<number, string>()
  /** Choices that the model refused: they have no output to validate. */
  const refused = new Set<number>()
  return {
    isComplete,
    observe(event) {
      if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.delta)
      else if (event.type === 'refusal-delta') refused.add(event.choice)
    },
    async validate(choice, truncated) {
      if (refused.has(choice)) return
      const text = texts.get(choice) ?? ''
      if (truncated && (isText || !isJson(text))) return
      const problem = await validator.check(schema, isText ? JSON.stringify(text) : text)
      if (problem !== undefined) throw new AppError('invalid-output', `the model's output ${failures[output.type](problem)}`)
    },
  }
}

/** The schema of the output as JSON; a text that is not JSON counts as a string. */
async function schemaOf(
  output: Constraint,
  validator: Validator,
  signal: AbortSignal,
): Promise<JsonObject | boolean | undefined> {
  switch (output.type) {
    case 'json-schema':
      return output.schema
    case 'json-object':
      return { type: 'object' }
    case 'regex':
      return { type: 'string', pattern: `^(?:${output.pattern})$` }
    case 'gbnf': {
      const grammar = { syntax: 'gbnf', definition: output.grammar } as const
      try {
        return await validator.inputSchema(grammar, { place: ['output'], signal })
      } catch {
        // The server may support more than our validator.
        signal.throwIfAborted()
        return undefined
      }
    }
  }
}

const failures: Readonly<Record<Constraint['type'], (problem: string) => string>> = {
  'json-object': (problem) => `is not a JSON object: ${problem}. Try again, or also ask for JSON in the prompt`,
  'json-schema': (problem) => `does not satisfy the schema: ${problem}. Try again, or simplify the schema`,
  regex: (problem) => `does not match the regular expression: ${problem}. Try again, or also describe the form in the prompt`,
  gbnf: (problem) => `breaks the grammar: ${problem}. Try again, or also describe the form in the prompt`,
}

export function isJson(text: string): boolean {
  return parseJson(text) !== undefined
}
