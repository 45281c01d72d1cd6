import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/request.ts'
import type { ItemPage, ListFilter, PageRequest, Store, StoredResponse } from '../contract/store.ts'
import { cancelElsewhere } from '../core/cancel/cancels-elsewhere.ts'
import { encodePage } from '../dialect/openai/lists.ts'
import type { ResponsesService } from './service.ts'
import { isOver, settled } from './settled.ts'

/** How long to wait for a cancelled response in another process. */
const cancelWaitMs = 5000
const cancelPollMs = 100

/** The present state of a response, on the wire. Rejects with `not-found`. */
export async function getResponse(service: ResponsesService, owner: string, id: string): Promise<JsonObject> {
  const live = service.background.find(owner, id)
  if (live === undefined) return encodeStored(await findStored(service, owner, id))
  // A reader that sees it ended may continue it immediately.
  if (isOver(live.run.status)) await live.ended
  return live.run.snapshot()
}

/**
 * Cancels a background response in any process, and resolves with its new state. An ended one stays as it is. Rejects with `not-found`, and
 * with `invalid-request` for other responses.
 */
export async function cancelResponse(service: ResponsesService, owner: string, id: string): Promise<JsonObject> {
  const live = service.background.find(owner, id)
  if (live !== undefined) {
    service.cancellations.cancelWhere({ id, owner }, 'requested', owner)
    await live.ended
    return live.run.snapshot()
  }
  const stored = await findStored(service, owner, id)
  if (stored.json.background !== true) {
    const message = `response '${id}' was not created with background: true; close its connection to cancel it`
    throw new AppError('invalid-request', message)
  }
  if (isOver(stored.status)) return encodeStored(stored)
  await cancelWhereItRuns(service, owner, id)
  const deadlineMs = service.now() + cancelWaitMs
  for (;;) {
    await pause(cancelPollMs)
    const current = await findStored(service, owner, id)
    if (isOver(current.status) || service.now() > deadlineMs) return encodeStored(current)
  }
}

/** The process that runs it stops it immediately if it can be reached; otherwise, when it next renews the lease. */
async function cancelWhereItRuns(service: ResponsesService, owner: string, id: string): Promise<void> {
  await cancelElsewhere(service.everyone, { replyIds: [id], by: owner, isAdmin: false })
  await storeOf(service).responses.requestCancel(owner, id)
}

/** Deletes a response, and cancels it if it still runs. Rejects with `not-found`. */
export async function deleteResponse(service: ResponsesService, owner: string, id: string): Promise<void> {
  const live = service.background.find(owner, id)
  if (live !== undefined) {
    service.cancellations.cancelWhere({ id, owner }, 'requested', owner)
    await live.ended
  } else if ((await findStored(service, owner, id)).leaseUntilMs !== undefined) await cancelWhereItRuns(service, owner, id)
  if (!(await storeOf(service).responses.delete(owner, id))) throw responseNotFound(id)
}

/** A page of the caller's stored responses, each in its present state. Empty without a store. */
export async function listResponses(
  service: ResponsesService,
  owner: string,
  { page, filter }: { readonly page: PageRequest; readonly filter: ListFilter },
) {
  const { store, background, wallClock } = service
  const { responses, hasMore } = (await store?.responses.list(owner, page, filter)) ?? { responses: [], hasMore: false }
  const nowMs = wallClock()
  const data = responses.map(
    (stored) => background.find(owner, stored.id)?.run.snapshot() ?? encodeStored(settled(stored, nowMs)),
  )
  return encodePage(data, { ids: responses.map(({ id }) => id), hasMore })
}

/** The input that a response was given. Rejects with `not-found`. */
export async function listInputItems(
  service: ResponsesService,
  owner: string,
  { id, page }: { readonly id: string; readonly page: PageRequest },
): Promise<ItemPage> {
  const items = await service.store?.responses.listInput(owner, id, page)
  if (items === undefined) throw responseNotFound(id)
  return items
}

/** Rejects with `not-found`. */
export async function findStored({ store, wallClock }: ResponsesService, owner: string, id: string): Promise<StoredResponse> {
  const stored = await store?.responses.find(owner, id)
  if (stored === undefined) throw responseNotFound(id)
  return settled(stored, wallClock())
}

export function encodeStored({ json, output }: StoredResponse): JsonObject {
  return { ...json, output: output.map((item) => item.json) }
}

/** The store, once something was found in it. */
export function storeOf({ store }: ResponsesService): Store {
  if (store === undefined) throw new AppError('internal', 'a response was found without a store')
  return store
}

function responseNotFound(id: string): AppError {
  return new AppError('not-found', `Response with id '${id}' not found.`)
}
