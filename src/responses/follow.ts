import { setTimeout as pause } from 'node:timers/promises'
import type { Emit } from '../base/emit.ts'
import { AppError } from '../contract/errors.ts'
import type { StoredResponse } from '../contract/store.ts'
import { encodeEnd, isEnd, readStoredEvent, replayResponse } from '../dialect/openai-responses/encode/encode-replay.ts'
import type { ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'
import type { ResponsesService } from './service.ts'
import { isOver } from './settled.ts'
import { encodeStored, findStored, storeOf } from './stored-responses.ts'

/** How often a response of another process is polled. */
const pollMs = 250
const pageSize = 500

type FollowOptions = {
  readonly owner: string
  readonly id: string
  /** Only events with a higher number; absent: all. */
  readonly after: number | undefined
  readonly emit: Emit<ResponseEvent>
  /** Aborted when the reader is gone. */
  readonly signal: AbortSignal
}

/**
 * Emits the events of a response, up to its last one: from this process for a background response running here; otherwise those stored so
 * far and, from another process, later ones; or the sequence recreated from the stored response. Rejects with `not-found`, and with
 * `invalid-request` for a number in a sequence that was not stored.
 */
export async function followResponse(service: ResponsesService, options: FollowOptions): Promise<void> {
  const { owner, id, after, emit, signal } = options
  const live = service.background.find(owner, id)
  if (live !== undefined) return live.log.follow(after ?? -1, emit, signal)
  let last = after ?? -1
  for (;;) {
    // Read before the events, so that those of an ended response are complete.
    const response = await findStored(service, owner, id)
    const read = await emitStored(service, { ...options, after: last })
    last = read.last
    if (read.hasEnded || signal.aborted) return
    if (isOver(response.status)) return emitRest(service, response, { ...options, last })
    await pause(pollMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
  }
}

/** Emits the stored events so far. `last`: the number of the last one read. */
async function emitStored(service: ResponsesService, { owner, id, after = -1, emit, signal }: FollowOptions) {
  let last = after
  let hasEnded = false
  for (;;) {
    const page = await storeOf(service).responses.events(owner, id, last, pageSize)
    for (const { sequence, json } of page) {
      const event = readStoredEvent(json)
      last = sequence
      hasEnded = isEnd(event)
      await emit(event)
      if (signal.aborted) return { last, hasEnded }
    }
    if (page.length < pageSize) return { last, hasEnded }
  }
}

/** Ends a sequence without a stored last event: its process died, only the response was stored, or everything was already read. */
async function emitRest(service: ResponsesService, response: StoredResponse, options: FollowOptions & { readonly last: number }) {
  const { owner, id, after, emit, signal, last } = options
  const hasEvents = (await storeOf(service).responses.events(owner, id, -1, 1)).length > 0
  if (hasEvents) {
    await emit(encodeEnd(encodeStored(response), last + 1))
    return
  }
  if (after !== undefined) {
    const message = `the events of response '${id}' were not stored: that needs background and stream; leave starting_after out`
    throw new AppError('invalid-request', message, { param: 'starting_after' })
  }
  for (const event of replayResponse(encodeStored(response))) {
    if (signal.aborted) return
    await emit(event)
  }
}
