import type { PreparedGeneration } from './engine.ts'
import { AppError } from './errors.ts'
import type { FinishReason, GenerationEvent } from './event.ts'
import type { Tool } from './request.ts'
import type { Validator } from './validation/output-validator.ts'

/** Checks the calls of each choice of one request to its strict tools, where no grammar makes them certain. */
export type CallCheck = {
  /** Keeps what has to be checked. The end of a call that was cut off is not to be seen. */
  see(event: GenerationEvent): void
  /** Throws `invalid-output` when the arguments of a call do not satisfy their schema; a call that was cut off is let go. */
  judge(choice: number, reason: FinishReason): Promise<void>
}

type Call = { readonly id: string; readonly tool: Tool; arguments: string; hasEnded: boolean }

/** Undefined when there is nothing to check. */
export function createCallCheck(
  validator: Validator | undefined,
  tools: readonly Tool[],
  { callsAreCertain = false }: PreparedGeneration,
): CallCheck | undefined {
  if (validator === undefined || callsAreCertain || !tools.some(({ strict }) => strict === true)) return undefined
  const strict = new Map(tools.filter((tool) => tool.strict === true).map((tool) => [tool.name, tool]))
  const calls = new Map<number, Call[]>()
  return {
    see(event) {
      if (event.type === 'tool-call-start') {
        const tool = strict.get(event.name)
        if (tool === undefined) return
        calls.set(event.choice, [...(calls.get(event.choice) ?? []), { id: event.id, tool, arguments: '', hasEnded: false }])
      } else if (event.type === 'tool-call-delta' || event.type === 'tool-call-end') {
        const call = calls.get(event.choice)?.findLast(({ id }) => id === event.id)
        if (call === undefined) return
        if (event.type === 'tool-call-delta') call.arguments += event.delta
        else call.hasEnded = true
      }
    },
    async judge(choice, reason) {
      for (const { tool, arguments: json, hasEnded } of calls.get(choice) ?? []) {
        // Some engines end a call that was cut off as any other; what there is of its object is no JSON.
        if (!hasEnded || (reason === 'length' && !isJson(json))) continue
        const problem = await validator.check(tool.parameters ?? { type: 'object' }, json)
        if (problem === undefined) continue
        const message =
          `the model called the strict tool '${tool.name}' with arguments that do not satisfy its parameters: ${problem}. ` +
          'Try again, or simplify the schema'
        throw new AppError('invalid-output', message)
      }
    },
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // That it is none is the answer.
    return false
  }
}
