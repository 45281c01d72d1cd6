import { hasMedia } from '../canonical/parts.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError, type ContextOverflow } from '../contract/errors.ts'
import type { StartEvent } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { ChatDefaults, ServedModel } from '../contract/served-model.ts'
import { withChatDefaults } from './chat-defaults.ts'

/** When an output limit gives way to what the context has room for. */
export type Shortening = {
  /** False: a limit that was asked for does not give way; an assumed one always does. */
  readonly shortensOutput?: boolean
  /** The part of the context that must be left for the output; absent: one token is enough. */
  readonly leastRoom?: number
}

type Fitting = {
  /** As it was prepared. */
  readonly request: GenerationRequest
  readonly prepared: PreparedGeneration
  readonly shortened: StartEvent['shortened']
}

type Preparing = {
  readonly model: Pick<ServedModel, 'chat' | 'engine'>
  readonly signal: AbortSignal
  readonly shortening: Shortening
  /** Of the preset in use; absent: none. */
  readonly chat?: ChatDefaults | undefined
}

/** Prepares a request; an output limit beyond the context gives way to what there is room for. A prompt that is too long is an error. */
export async function prepareFitting(
  request: GenerationRequest,
  { model, signal, shortening, chat }: Preparing,
): Promise<Fitting> {
  const { shortensOutput = true, leastRoom = 0 } = shortening
  const prepare = (wanted: GenerationRequest) =>
    model.engine.prepare(withChatDefaults(withChatDefaults(wanted, chat), model.chat), signal)
  try {
    return { request, prepared: await prepare(request), shortened: undefined }
  } catch (error) {
    const { isMaxOutputAssumed, maxOutputTokens: asked, minOutputTokens = 1 } = request
    if (asked === undefined || !(error instanceof AppError) || !(shortensOutput || isMaxOutputAssumed === true)) throw error
    const { room, least } = roomIn(error.overflow, leastRoom)
    if (room < Math.max(least, minOutputTokens)) throw error
    const { maxOutputTokens: _, ...unlimited } = request
    // Media may have more tokens than were counted.
    const fitting = hasMedia(request.prompt) ? unlimited : { ...request, maxOutputTokens: room }
    const prepared = await prepare(fitting)
    return { request: fitting, prepared, shortened: isMaxOutputAssumed === true ? undefined : { asked, room } }
  }
}

function roomIn(overflow: ContextOverflow | undefined, leastRoom: number): { readonly room: number; readonly least: number } {
  if (overflow === undefined || overflow.estimated === true) return { room: 0, least: 1 }
  const { inputTokens, contextLength } = overflow
  return { room: contextLength - inputTokens, least: Math.max(1, Math.floor(leastRoom * contextLength)) }
}
