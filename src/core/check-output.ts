import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { OutputConstraint } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { isJson } from './is-json.ts'

/** Checks the text of each choice of one request, where its grammar let through more than its schema. */
export type OutputCheck = {
  /** The whole schema is checked; false: only that the text is JSON, for the schema is none that can be checked against. */
  readonly isWhole: boolean
  /** Keeps what has to be checked. */
  see(event: GenerationEvent): void
  /** Throws `invalid-output` when the text of a choice does not satisfy the schema; one that was cut off inside is let go. */
  judge(choice: number, isCut: boolean): Promise<void>
}

type SchemaOutput = Extract<OutputConstraint, { type: 'json-schema' }>

/** Whether the grammar lets through more than the schema. */
export function needsOutputCheck(output: OutputConstraint, { structured }: PreparedGeneration): output is SchemaOutput {
  return output.type === 'json-schema' && structured === 'partial'
}

export async function createOutputCheck(
  validator: Validator | undefined,
  { schema }: SchemaOutput,
): Promise<OutputCheck | undefined> {
  if (validator === undefined) return undefined
  const isWhole = (await validator.canCheck(schema)) === true
  const texts = new Map<number, string>()
  /** Choices in which the model declined: there is no output to check. */
  const refused = new Set<number>()
  return {
    isWhole,
    see(event) {
      if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.delta)
      else if (event.type === 'refusal-delta') refused.add(event.choice)
    },
    async judge(choice, isCut) {
      if (refused.has(choice)) return
      const text = texts.get(choice) ?? ''
      if (isCut && !isJson(text)) return
      const problem = await validator.check(isWhole ? schema : true, text)
      if (problem === undefined) return
      const message = `the model's output does not satisfy the schema: ${problem}. Try again, or simplify the schema`
      throw new AppError('invalid-output', message)
    },
  }
}
