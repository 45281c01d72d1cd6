import { hasMedia } from '../canonical/parts.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { StartEvent } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { ChatDefaults, ServedModel } from '../contract/served-model.ts'
import { withChatDefaults } from './chat-defaults.ts'

/** When an output limit may shrink to the room in the context. */
export type Shortening = {
  /** False: a requested limit does not shrink; an assumed one always does. */
  readonly shortensOutput?: boolean
  /** The part of the context that must be left for the output; absent: one token is enough. */
  readonly leastRoom?: number
}

/** A request prepared to run. */
export type Fitting = {
  readonly request: GenerationRequest
  readonly prepared: PreparedGeneration
  readonly shortened: StartEvent['shortened']
}

type Preparing = {
  readonly model: Pick<ServedModel, 'chat' | 'engine'>
  readonly signal: AbortSignal
  readonly shortening: Shortening
  /** Conversation defaults of the preset in use. */
  readonly chat?: ChatDefaults | undefined
}

/** Prepares a request; an output limit beyond the context shrinks to the room that is left. A prompt that is too long is an error. */
export async function prepareFitting(request: GenerationRequest, preparing: Preparing): Promise<Fitting> {
  try {
    return { request, prepared: await prepare(request, preparing), shortened: undefined }
  } catch (error) {
    if (request.maxOutputTokens === undefined) throw error
    return await prepareShorter(request, error, preparing)
  }
}

/** Prepares a request differently after the engine refused it. Rejects with that refusal if there is no other way. */
export async function prepareAgain(fitting: Fitting, error: unknown, preparing: Preparing): Promise<Fitting> {
  const { request } = fitting
  if (!(error instanceof AppError) || !error.preparesAgain) return await prepareShorter(request, error, preparing)
  return { ...fitting, prepared: await prepare(request, preparing) }
}

/**
 * Prepares a refused request with a smaller output limit that fits, also if it had none. Rejects with the refusal if none fits, or if
 * limits may not shrink.
 */
async function prepareShorter(request: GenerationRequest, error: unknown, preparing: Preparing): Promise<Fitting> {
  const { shortensOutput = true, leastRoom = 0 } = preparing.shortening
  const { maxOutputTokens: asked, minOutputTokens = 1 } = request
  const isAssumed = asked === undefined || request.isMaxOutputAssumed === true
  if (!(error instanceof AppError) || !(shortensOutput || isAssumed)) throw error
  const { room, least } = roomIn(error, leastRoom)
  if (room < Math.max(least, minOutputTokens) || room >= (asked ?? Number.POSITIVE_INFINITY)) throw error
  const { maxOutputTokens: _, ...unlimited } = request
  // Media may have more tokens than counted, but not more than a server reports.
  const isEstimate = error.mostOutputTokens === undefined && hasMedia(request.prompt)
  const fitting = isEstimate ? unlimited : { ...request, maxOutputTokens: room }
  const isByContext = error.overflow !== undefined && !isAssumed
  return { request: fitting, prepared: await prepare(fitting, preparing), shortened: isByContext ? { asked, room } : undefined }
}

function prepare(request: GenerationRequest, { model, signal, chat }: Preparing): Promise<PreparedGeneration> {
  return model.engine.prepare(withChatDefaults(withChatDefaults(request, chat), model.chat), signal)
}

function roomIn({ overflow, mostOutputTokens }: AppError, leastRoom: number): { readonly room: number; readonly least: number } {
  if (overflow === undefined) return { room: mostOutputTokens ?? 0, least: 1 }
  if (overflow.estimated === true) return { room: 0, least: 1 }
  const { inputTokens, contextLength } = overflow
  const least = Math.max(1, Math.floor(leastRoom * contextLength))
  return { room: mostOutputTokens ?? contextLength - inputTokens, least }
}
