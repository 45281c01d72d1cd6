import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { FunctionTool } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { isJson } from './is-json.ts'

/** Checks the calls of each choice of one request to its strict tools, where no grammar makes them certain. */
export type CallCheck = {
  /** Keeps what has to be checked. The end of a call that was cut off is not to be seen. */
  see(event: GenerationEvent): void
  /** Throws `invalid-output` when the arguments of a call do not satisfy their schema; a call that was cut off is let go. */
  judge(choice: number, isCut: boolean): Promise<void>
}

type Call = { readonly id: string; readonly tool: FunctionTool; arguments: string; hasEnded: boolean }

/** Whether calls to strict tools have to be checked. */
export function needsCallCheck(tools: readonly FunctionTool[], { callsAreCertain = false }: PreparedGeneration): boolean {
  return !callsAreCertain && tools.some(({ strict }) => strict === true)
}

/**
 * Throws `invalid-request` for a strict tool whose calls cannot be checked: they would fail after they were generated; and the
 * signal's reason.
 */
export async function createCallCheck(
  validator: Validator | undefined,
  tools: readonly FunctionTool[],
  signal: AbortSignal,
): Promise<CallCheck | undefined> {
  if (validator === undefined) return undefined
  const strict = new Map(tools.filter((tool) => tool.strict === true).map((tool) => [tool.name, tool]))
  for (const [index, { name, parameters, strict: isStrict }] of tools.entries()) {
    if (isStrict !== true) continue
    signal.throwIfAborted()
    // Where nobody could say in time, the calls themselves will show it.
    if (parameters === undefined || (await validator.canCheck(parameters)) !== false) continue
    const message = `the parameters of the strict tool '${name}' are not a JSON Schema that calls can be checked against`
    throw new AppError('invalid-request', `${message}: fix them, or leave strict out`, {
      at: ['prompt', 'tools', index, 'parameters'],
    })
  }
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
    async judge(choice, isCut) {
      for (const { tool, arguments: json, hasEnded } of calls.get(choice) ?? []) {
        // Some engines end a call that was cut off as any other; what there is of its object is no JSON.
        if (!hasEnded || (isCut && !isJson(json))) continue
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
