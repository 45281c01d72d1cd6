import { type Emit, inTurn } from '../../base/emit.ts'
import { given } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { EventOf, GenerationEvent } from '../../contract/event.ts'
import { type CanonicalPath, field, fillFields } from '../../contract/field.ts'
import type { GenerationRequest, Prompt, Tool } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'
import { parametersOf } from './function-of.ts'
import { asFunctions, isCustomTool } from './function-prompt.ts'
import { InputDecoder } from './input-decoder.ts'

type Around = {
  /** Absent: grammars are only shown to the model. */
  readonly validator: Pick<Validator, 'inputSchema'> | undefined
  readonly signal: AbortSignal
  readonly emit: Emit<GenerationEvent>
}

/** A request for the engine: its custom tools are functions with one string. */
type WithFunctions = {
  readonly request: GenerationRequest
  /** Converts the events back to calls of custom tools. */
  readonly emit: Emit<GenerationEvent>
  /** Moves a failure to its place in the original request. */
  restore(error: unknown): unknown
}

/**
 * Turns the custom tools of a request into functions; undefined if it has none. Rejects for an unusable grammar, and with the signal's
 * reason.
 */
export function withFunctions(request: GenerationRequest, around: Around): Promise<WithFunctions> | undefined {
  const { prompt } = request
  if (prompt.type !== 'chat') return undefined
  const functions = asFunctions(prompt)
  return functions === prompt ? undefined : replace({ ...request, prompt: functions }, prompt.tools, around)
}

async function replace(
  request: GenerationRequest & { readonly prompt: Extract<Prompt, { type: 'chat' }> },
  declared: readonly Tool[],
  { validator, signal, emit }: Around,
): Promise<WithFunctions> {
  const names = new Set(declared.filter(isCustomTool).map(({ name }) => name))
  // Only earlier calls are custom.
  if (names.size === 0) return { request, emit, restore: (error) => error }
  const { tools } = request.prompt
  const enforced = validator === undefined ? tools : await enforceGrammars(tools, declared, { validator, signal })
  return {
    request: { ...request, prompt: { ...request.prompt, tools: enforced } },
    emit: restoreCalls(names, emit),
    restore: (error) => restorePlaces(error, declared),
  }
}

/** The functions, with enforceable parts of the custom tools' grammars. */
function enforceGrammars(
  functions: readonly Tool[],
  declared: readonly Tool[],
  { validator, signal }: { readonly validator: Pick<Validator, 'inputSchema'>; readonly signal: AbortSignal },
): Promise<readonly Tool[]> {
  return Promise.all(
    functions.map(async (made, index) => {
      const custom = declared[index]
      if (custom?.type !== 'custom' || custom.grammar === undefined || made.type === 'custom') return made
      const place = ['prompt', 'tools', index, 'grammar', 'definition']
      const input = await validator.inputSchema(custom.grammar, { place, signal })
      return { ...made, enforced: parametersOf(input) }
    }),
  )
}

function restorePlaces(error: unknown, tools: readonly Tool[]): unknown {
  if (!(error instanceof AppError)) return error
  const { at, param, retryAfterMs, overflow } = error
  const message = fillFields(error.template, (path) => field(...placeIn(tools, path)))
  if (message === error.template && (at === undefined || placeIn(tools, at) === at)) return error
  return new AppError(error.code, message, {
    ...(at !== undefined && { at: placeIn(tools, at) }),
    ...given({ param, retryAfterMs, overflow }),
    cause: error,
  })
}

/** The function's parameters come from the grammar of the custom tool. */
function placeIn(tools: readonly Tool[], path: CanonicalPath): CanonicalPath {
  const [root, list, index, member] = path
  if (root !== 'prompt' || list !== 'tools' || typeof index !== 'number') return path
  if (member !== 'parameters' && member !== 'strict') return path
  const tool = tools[index]
  if (tool === undefined || !isCustomTool(tool)) return path
  return tool.grammar === undefined ? ['prompt', 'tools', index] : ['prompt', 'tools', index, 'grammar', 'definition']
}

/** Emits calls of functions that represent these custom tools as custom calls, with the text of the input. */
function restoreCalls(names: ReadonlySet<string>, emit: Emit<GenerationEvent>): Emit<GenerationEvent> {
  const decoders = new Map<string, InputDecoder>()
  return (event) => {
    switch (event.type) {
      case 'tool-call-start':
        if (!names.has(event.name)) {
          // An upstream may give two calls the same id.
          decoders.delete(keyOf(event))
          return emit(event)
        }
        decoders.set(keyOf(event), new InputDecoder())
        return emit({ kind: 'custom', ...event })
      case 'tool-call-delta': {
        const decoder = decoders.get(keyOf(event))
        if (decoder === undefined) return emit(event)
        const delta = decoder.push(event.delta)
        return delta === '' && event.tokens === undefined ? undefined : emit({ ...event, delta })
      }
      case 'tool-call-end': {
        const decoder = decoders.get(keyOf(event))
        if (decoder === undefined) return emit(event)
        decoders.delete(keyOf(event))
        return inTurn(endOf(event, decoder), emit)
      }
      default:
        return emit(event)
    }
  }
}

/** Arguments that a format's parser repaired may need no further repair. */
function endOf({ choice, id, state, raw }: EventOf<'tool-call-end'>, decoder: InputDecoder): GenerationEvent[] {
  const end = decoder.end()
  const judged = end.state ?? state
  const source = raw ?? end.raw
  return [
    ...(end.delta === '' ? [] : [{ type: 'tool-call-delta', choice, id, delta: end.delta } as const]),
    {
      type: 'tool-call-end',
      choice,
      id,
      ...(judged !== undefined && { state: judged, ...(source !== undefined && { raw: source }) }),
    },
  ]
}

function keyOf({ choice, id }: { readonly choice: number; readonly id: string }): string {
  return `${choice} ${id}`
}
