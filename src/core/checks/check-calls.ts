import { argumentsSchema, callableTools } from '../../canonical/callable-tools.ts'
import type { PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { FunctionTool, GenerationRequest, Tool } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'
import { readInput } from '../custom-tools/input-decoder.ts'
import { isJson } from './check-output.ts'

/** Validates the strict tool calls of one request, where no grammar guarantees them. */
export type CallCheck = {
  /** Collects arguments. Leave out the `tool-call-end` of a truncated call. */
  observe(event: GenerationEvent): void
  /** Throws `invalid-output` for arguments that do not satisfy their schema; truncated calls are not validated. */
  validate(choice: number, truncated: boolean): Promise<void>
}

type OpenCall = { readonly id: string; readonly tool: FunctionTool; arguments: string; hasEnded: boolean }

/** The tools whose calls have to be validated: strict ones that may be called. */
export function toolsToCheck(
  { prompt, toolChoice }: Pick<GenerationRequest, 'prompt' | 'toolChoice'>,
  { callsAreCertain = false }: PreparedGeneration,
): readonly FunctionTool[] {
  if (prompt.type !== 'chat') return []
  // In some formats a grammar cannot keep the input of a custom tool free of its closing tag.
  const isChecked = ({ strict, enforced }: FunctionTool) => strict === true && (!callsAreCertain || enforced !== undefined)
  return callableTools(prompt.tools, toolChoice).filter(isChecked)
}

type ToCheck = {
  readonly tools: readonly FunctionTool[]
  /** All tools of the request: failures name their index. */
  readonly declared: readonly Tool[]
  readonly signal: AbortSignal
}

/**
 * Throws `invalid-request` for a strict tool whose schema is not supported, which would only fail after the generation, and the
 * signal's reason.
 */
export async function createCallCheck(
  validator: Validator | undefined,
  { tools, declared, signal }: ToCheck,
): Promise<CallCheck | undefined> {
  if (validator === undefined || tools.length === 0) return undefined
  const strict = new Map(tools.map((tool) => [tool.name, tool]))
  for (const tool of tools) {
    const { name, parameters } = tool
    signal.throwIfAborted()
    // Undefined is a timeout: the calls are validated anyway, and may time out again.
    if (parameters === undefined || (await validator.canCheck(parameters)) !== false) continue
    const message = `the parameters of the strict tool '${name}' are not a JSON Schema that calls can be checked against`
    throw new AppError('invalid-request', `${message}: fix them, or leave strict out`, {
      at: ['prompt', 'tools', declared.indexOf(tool), 'parameters'],
    })
  }
  const calls = new Map<number, OpenCall[]>()
  return {
    observe(event) {
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
    async validate(choice, truncated) {
      for (const { tool, arguments: json, hasEnded } of calls.get(choice) ?? []) {
        // Some engines end truncated calls like complete ones; their arguments are then not JSON.
        if (!hasEnded || (truncated && !isJson(json))) continue
        const problem = await problemOf(tool, json, validator)
        if (problem !== undefined) throw new AppError('invalid-output', `the model called the ${problem}`)
      }
    },
  }
}

/** A description of what is wrong with the arguments of a call, if anything. */
async function problemOf(tool: FunctionTool, json: string, validator: Validator): Promise<string | undefined> {
  const { name, enforced } = tool
  if (enforced === undefined) {
    const problem = await validator.check(argumentsSchema(tool), json)
    if (problem === undefined) return undefined
    return `strict tool '${name}' with arguments that do not satisfy its parameters: ${problem}. Try again, or simplify the schema`
  }
  const problem = await validator.check(enforced, JSON.stringify({ input: readInput(json) }))
  if (problem === undefined) return undefined
  return `tool '${name}' with an invalid input: ${problem}. Try again, or simplify the grammar`
}
