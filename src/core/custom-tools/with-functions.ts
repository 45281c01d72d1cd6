import type { Emit } from '../../contract/emit.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { asFunctions, isCustomTool } from './function-prompt.ts'
import { restoreCalls } from './restore-calls.ts'
import { restorePlaces } from './restore-places.ts'

type Run = (request: GenerationRequest, emit: Emit<GenerationEvent>) => Promise<void>

/**
 * Runs a request whose custom tools are functions with one string for the engine, and custom tools for the caller: in its events and in
 * the places of failures.
 */
export async function withFunctions(request: GenerationRequest, emit: Emit<GenerationEvent>, run: Run): Promise<void> {
  const { prompt } = request
  if (prompt.type !== 'chat') return run(request, emit)
  const functions = asFunctions(prompt)
  if (functions === prompt) return run(request, emit)
  const names = new Set(prompt.tools.filter(isCustomTool).map(({ name }) => name))
  const asked = { ...request, prompt: functions }
  try {
    await run(asked, restoreCalls(names, emit))
  } catch (error) {
    throw restorePlaces(error, prompt.tools)
  }
}
