import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { OutputConstraint } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { isJson } from './is-json.ts'

/** Validates the text of each choice of one request, where the grammar allows more than the schema. */
export type OutputCheck = {
  /** False: the schema is not supported, and the text is only checked to be JSON. */
  readonly coversSchema: boolean
  /** Collects text. */
  observe(event: GenerationEvent): void
  /** Throws `invalid-output` for a text that does not satisfy the schema; truncated JSON is not validated. */
  validate(choice: number, truncated: boolean): Promise<void>
}

type JsonOutput = Extract<OutputConstraint, { type: 'json-schema' | 'json-object' }>

/** Whether the grammar allows more than the schema. */
export function needsOutputCheck(output: OutputConstraint, { structured }: PreparedGeneration): output is JsonOutput {
  return (output.type === 'json-schema' || output.type === 'json-object') && structured === 'partial'
}

export async function createOutputCheck(validator: Validator | undefined, output: JsonOutput): Promise<OutputCheck | undefined> {
  if (validator === undefined) return undefined
  const schema = output.type === 'json-schema' ? output.schema : { type: 'object' }
  const coversSchema = (await validator.canCheck(schema)) === true
  const texts = new Map<number, string>()
  /** Choices in which the model refused: there is no output to validate. */
  const refused = new Set<number>()
  return {
    coversSchema,
    observe(event) {
      if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.delta)
      else if (event.type === 'refusal-delta') refused.add(event.choice)
    },
    async validate(choice, truncated) {
      if (refused.has(choice)) return
      const text = texts.get(choice) ?? ''
      if (truncated && !isJson(text)) return
      const problem = await validator.check(coversSchema ? schema : true, text)
      if (problem === undefined) return
      const message =
        output.type === 'json-object'
          ? `the model's output is not a JSON object: ${problem}. Try again, or ask for JSON in the prompt, too`
          : `the model's output does not satisfy the schema: ${problem}. Try again, or simplify the schema`
      throw new AppError('invalid-output', message)
    },
  }
}
