import { AppError, messageOf } from '../contract/errors.ts'
import type { Batch, BatchLine } from '../contract/server/batches.ts'
import { type BatchDeps, leaseMs } from './deps.ts'
import { refuseModelFor } from './models.ts'
import { readLines } from './read-lines.ts'
import { begun, failed, finalState } from './states.ts'

/** Lines for one call of the store. */
export const pageLines = 500
export const pageBytes = 256 * 1024

/** Reads the lines of a batch from its file. It fails with all faults, or its lines wait from then on. */
export async function readInput(deps: BatchDeps, batch: Batch): Promise<void> {
  const { store, files, wallClock } = deps
  const { id, owner, inputFileId, endpoint, keyHash } = batch
  const principal = await deps.findPrincipal(keyHash)
  const keepLease = createLease(deps, id)
  // The process died that was storing its requests: the caller has no reply, and sends them again.
  if (inputFileId === undefined) return store.delete(owner, id)
  let waiting: BatchLine[] = []
  let waitingBytes = 0
  let total = 0
  const write = async () => {
    await store.addLines(id, waiting)
    total += waiting.length
    waiting = []
    waitingBytes = 0
    await keepLease()
  }
  // Another process may have read a part.
  await store.deleteLines(id)
  try {
    if (principal === undefined) throw new AppError('unauthorized', 'the API key that created the batch no longer exists')
    const rules = { endpoint, maxLineBytes: deps.maxLineBytes, refuseModel: refuseModelFor(deps, principal) }
    const faults = await readLines(await files.content(owner, inputFileId), rules, (line) => {
      waiting.push(line)
      waitingBytes += line.body.length
      return waiting.length < pageLines && waitingBytes < pageBytes ? undefined : write()
    })
    if (faults.length > 0) {
      await store.deleteLines(id)
      await store.change(id, (now) => failed(now, faults, wallClock()))
      return
    }
    await write()
    await store.change(id, (now) => begun(now, total, wallClock()))
  } catch (error) {
    if (AppError.from(error).code === 'store-unavailable') throw error
    await store.deleteLines(id)
    await store.change(id, (now) => failed(now, [{ code: AppError.from(error).code, message: messageOf(error) }], wallClock()))
  }
}

/** Ends a batch whose lines have ended. OpenAI's form gets files of results in place of the lines. */
export async function finalize(deps: BatchDeps, batch: Batch): Promise<void> {
  const { store, wallClock } = deps
  const { id, form, counts } = batch
  const hasErrors = counts.errored + counts.cancelled + counts.expired > 0
  const outputFileId = form === 'openai' && counts.succeeded > 0 ? await writeFile(deps, batch, 'output') : undefined
  const errorFileId = form === 'openai' && hasErrors ? await writeFile(deps, batch, 'error') : undefined
  const { leaseUntilMs: _, ...rest } = batch
  await store.change(id, (now) => ({
    ...rest,
    counts: now.counts,
    usage: now.usage,
    state: finalState(now),
    times: { ...now.times, endedMs: wallClock() },
    ...(outputFileId !== undefined && { outputFileId }),
    ...(errorFileId !== undefined && { errorFileId }),
  }))
  if (form === 'openai') await store.deleteLines(id)
}

async function writeFile(
  deps: BatchDeps,
  { id, owner, outputLifetimeMs: lifetimeMs }: Batch,
  kind: 'output' | 'error',
): Promise<string> {
  const keepLease = createLease(deps, id)
  async function* bytes() {
    for (let after = 0; ; ) {
      const page = await deps.store.results(id, after, pageLines)
      const last = page.at(-1)
      if (last === undefined) return
      const wanted = page.filter(({ ending }) => (ending === 'succeeded') === (kind === 'output'))
      if (wanted.length > 0) yield Buffer.from(wanted.map((line) => deps.words.encodeResult(id, line)).join(''))
      after = last.line
      await keepLease()
    }
  }
  const file = { filename: `${id}_${kind}.jsonl`, mediaType: 'application/jsonl', bytes: bytes(), isResult: true as const }
  const { id: fileId } = await deps.files.add(
    owner,
    { ...file, wishes: async () => ({ purpose: 'batch_output', ...(lifetimeMs !== undefined && { lifetimeMs }) }) },
    new AbortController().signal,
  )
  return fileId
}

/** Shows at most a few times in each lease that the process lives. */
function createLease({ store, wallClock }: BatchDeps, id: string): () => Promise<void> {
  let renewMs = 0
  return async () => {
    const nowMs = wallClock()
    if (nowMs < renewMs) return
    renewMs = nowMs + leaseMs / 4
    await store.change(id, (batch) => ({ ...batch, leaseUntilMs: nowMs + leaseMs }))
  }
}
