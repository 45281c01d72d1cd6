import type { Emit } from '../../contract/emit.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'
import type { Validator } from '../../contract/validator.ts'
import { enforceGrammars } from './enforce-grammars.ts'
import { asFunctions, isCustomTool } from './function-prompt.ts'
import { restoreCalls } from './restore-calls.ts'
import { restorePlaces } from './restore-places.ts'

type Around = {
  /** Without one, grammars are only shown to the model. */
  readonly validator: Pick<Validator, 'inputSchema'> | undefined
  readonly signal: AbortSignal
  readonly emit: Emit<GenerationEvent>
}
type Run = (request: GenerationRequest, emit: Emit<GenerationEvent>) => Promise<void>

/**
 * Runs a request whose custom tools are functions with one string for the engine, and custom tools for the caller: in its events and in
 * the places of failures. Rejects for a grammar that cannot be used, and with the signal's reason.
 */
export function withFunctions(request: GenerationRequest, around: Around, run: Run): Promise<void> {
  const { prompt } = request
  const functions = prompt.type === 'chat' ? asFunctions(prompt) : prompt
  if (prompt.type !== 'chat' || functions.type !== 'chat' || functions === prompt) return run(request, around.emit)
  return withChanged({ ...request, prompt }, functions, { around, run })
}

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

async function withChanged(
  request: GenerationRequest & { readonly prompt: ChatPrompt },
  functions: ChatPrompt,
  { around: { validator, signal, emit }, run }: { readonly around: Around; readonly run: Run },
): Promise<void> {
  const { prompt } = request
  const names = new Set(prompt.tools.filter(isCustomTool).map(({ name }) => name))
  if (names.size === 0) return run({ ...request, prompt: functions }, emit)
  const tools =
    validator === undefined ? functions.tools : await enforceGrammars(functions.tools, prompt.tools, { validator, signal })
  try {
    await run({ ...request, prompt: { ...functions, tools } }, restoreCalls(names, emit))
  } catch (error) {
    throw restorePlaces(error, prompt.tools)
  }
}
