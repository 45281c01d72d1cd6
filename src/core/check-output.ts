import type { PreparedGeneration } from './engine.ts'
import { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'
import type { OutputConstraint } from './request.ts'
import type { Validator } from './validation/output-validator.ts'

/** Checks the text of each choice of one request, where its grammar let through more than its schema. */
export type OutputCheck = {
  /** Keeps what has to be checked. */
  see(event: GenerationEvent): void
  /** Throws `invalid-output` when the text of a finished choice does not satisfy the schema. */
  judge(choice: number): Promise<void>
}

/** Undefined when there is nothing to check, or nothing that could be checked. */
export async function createOutputCheck(
  validator: Validator | undefined,
  output: OutputConstraint,
  { structured }: PreparedGeneration,
): Promise<OutputCheck | undefined> {
  if (validator === undefined || output.type !== 'json-schema' || structured !== 'partial') return undefined
  const { schema } = output
  if (!(await validator.canCheck(schema))) return undefined
  const texts = new Map<number, string>()
  return {
    see(event) {
      if (event.type === 'text-delta') texts.set(event.choice, (texts.get(event.choice) ?? '') + event.delta)
    },
    async judge(choice) {
      const problem = await validator.check(schema, texts.get(choice) ?? '')
      if (problem === undefined) return
      const message = `the model's output does not satisfy the schema: ${problem}. Try again, or simplify the schema`
      throw new AppError('invalid-output', message)
    },
  }
}
