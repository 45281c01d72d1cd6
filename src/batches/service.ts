import { randomHex } from '../base/random-hex.ts'
import { AppError } from '../contract/errors.ts'
import type { Principal } from '../contract/principal.ts'
import type { Batch, BatchForm, BatchLine, EndedLine } from '../contract/server/batches.ts'
import type { Metadata } from '../contract/store.ts'
import { type BatchDeps, leaseMs } from './deps.ts'
import { refuseModelFor } from './models.ts'
import { LineCheck } from './read-lines.ts'
import { BatchRunner } from './runner.ts'
import { begun, cancelling, hasEnded, openLines } from './states.ts'
import { pageBytes, pageLines } from './transitions.ts'

const ids: Readonly<Record<BatchForm, string>> = { openai: 'batch_', anthropic: 'msgbatch_' }
const noCounts = { total: 0, succeeded: 0, errored: 0, cancelled: 0, expired: 0 }
const noUsage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }

/** Batches of a caller that have not ended: each may take some hundred megabytes of the store. */
const mostOpen = 100

/** A file whose lines are requests. */
export type FileBatch = {
  readonly endpoint: string
  readonly inputFileId: string
  readonly windowMs: number
  readonly outputLifetimeMs?: number
  readonly metadata?: Metadata
}

/** Requests that come with their batch, as the caller sends them. */
export type RequestBatch = {
  readonly endpoint: string
  readonly windowMs: number
  readonly requests: AsyncIterable<{ readonly customId: unknown; readonly body: unknown }>
  /** The caller's name of a request's field. */
  nameOf(index: number, field: string): string
}

/** The batches of callers. Calls reject with `not-found` for what is another caller's or in another protocol. */
export class Batches {
  readonly #deps: BatchDeps
  readonly #runner: BatchRunner

  constructor(deps: BatchDeps) {
    this.#deps = deps
    this.#runner = new BatchRunner(deps)
  }

  /** Begins to run what is stored. */
  start(): void {
    this.#runner.start()
  }

  close(): Promise<void> {
    return this.#runner.close()
  }

  /** Rejects with `rate-limit-exceeded` for a caller with too many batches, as `createFromRequests`. */
  async createFromFile(principal: Principal, { windowMs, ...given }: FileBatch): Promise<Batch> {
    await this.#refuseMany(principal)
    const { purpose } = await this.#deps.files.get(principal.id, given.inputFileId)
    if (purpose !== 'batch') {
      const message = `input_file_id '${given.inputFileId}' has the purpose '${purpose ?? 'user_data'}': upload it with the purpose 'batch'`
      throw new AppError('invalid-request', message, { param: 'input_file_id' })
    }
    const batch: Batch = { ...this.#newBatch(principal, 'openai', windowMs), ...given, state: 'validating' }
    await this.#deps.store.create(batch)
    this.#runner.wake()
    return batch
  }

  /** Rejects with `invalid-request`, which lists the faults of all requests. */
  async createFromRequests(principal: Principal, { endpoint, windowMs, requests, nameOf }: RequestBatch): Promise<Batch> {
    const { store, maxLineBytes, wallClock } = this.#deps
    await this.#refuseMany(principal)
    const check = new LineCheck({ endpoint, maxLineBytes, refuseModel: refuseModelFor(this.#deps, principal) })
    // Nobody runs it before all of its lines are there; if this process dies before, it is deleted.
    const held = () => ({ state: 'validating' as const, leaseUntilMs: wallClock() + leaseMs })
    const batch: Batch = { ...this.#newBatch(principal, 'anthropic', windowMs), endpoint, ...held() }
    await store.create(batch)
    const hold = (now: Batch) => (now.state === 'validating' ? { ...now, ...held() } : undefined)
    const holding = setInterval(() => store.change(batch.id, hold).catch(() => undefined), leaseMs / 4)
    let total = 0
    try {
      let waiting: BatchLine[] = []
      let waitingBytes = 0
      const faults: { readonly message: string; readonly param: string }[] = []
      const write = async () => {
        await store.addLines(batch.id, waiting)
        waiting = []
        waitingBytes = 0
      }
      for await (const request of requests) {
        total += 1
        const read = await check.check({ ...request, bodyName: 'params' }, total)
        if ('fault' in read) {
          const param = nameOf(total - 1, read.fault.param ?? '')
          faults.push({ param, message: `${param}: ${read.fault.message}` })
        } else if (faults.length === 0) {
          waiting.push(read.line)
          waitingBytes += read.line.body.length
          if (waiting.length >= pageLines || waitingBytes >= pageBytes) await write()
        }
      }
      if (faults.length > 0) throw refusalOf(faults)
      await write()
    } catch (error) {
      await store.delete(principal.id, batch.id)
      throw error
    } finally {
      clearInterval(holding)
    }
    const begunBatch = await store.change(batch.id, (now) => begun(now, total, wallClock()))
    this.#runner.wake()
    return begunBatch ?? batch
  }

  async find(owner: string, form: BatchForm, id: string): Promise<Batch> {
    const batch = await this.#deps.store.find(owner, id)
    if (batch === undefined || batch.form !== form || isArriving(batch))
      throw new AppError('not-found', `there is no batch '${id.slice(0, 80)}'`)
    return batch
  }

  /** The newest first. */
  async list(owner: string, form: BatchForm): Promise<readonly Batch[]> {
    return (await this.#deps.store.list(owner, form)).filter((batch) => !isArriving(batch))
  }

  /** The results so far are kept. A batch that has ended stays as it is. */
  async cancel(owner: string, form: BatchForm, id: string): Promise<Batch> {
    const batch = await this.find(owner, form, id)
    const changed = await this.#deps.store.change(id, (now) => cancelling(now, this.#deps.wallClock()))
    this.#runner.wake()
    return changed ?? batch
  }

  /** Rejects with `request-conflict` for a batch that has not ended. */
  async delete(owner: string, form: BatchForm, id: string): Promise<void> {
    const batch = await this.find(owner, form, id)
    if (!hasEnded(batch)) throw new AppError('request-conflict', `the batch '${id}' has not ended: cancel it first`)
    await this.#deps.store.delete(owner, id)
  }

  /** All lines in the order of the input. Rejects with `request-conflict` for a batch that has not ended. */
  async results(owner: string, form: BatchForm, id: string): Promise<AsyncGenerator<readonly EndedLine[]>> {
    const batch = await this.find(owner, form, id)
    if (!hasEnded(batch)) {
      throw new AppError(
        'request-conflict',
        `the batch '${id}' has not ended: ${openLines(batch.counts)} of its requests are left`,
      )
    }
    return this.#pages(id)
  }

  async *#pages(id: string): AsyncGenerator<readonly EndedLine[]> {
    for (let after = 0; ; ) {
      const page = await this.#deps.store.results(id, after, pageLines)
      const last = page.at(-1)
      if (last === undefined) return
      yield page
      after = last.line
    }
  }

  async #refuseMany({ id }: Principal): Promise<void> {
    const open = (await this.#deps.store.active()).filter(({ owner }) => owner === id).length
    if (open < mostOpen) return
    const message = `${open} of your batches have not ended, and ${mostOpen} is the most: wait until one has, or cancel it`
    throw new AppError('rate-limit-exceeded', message)
  }

  #newBatch({ id: owner, keyHash }: Principal, form: BatchForm, windowMs: number) {
    const createdAtMs = this.#deps.wallClock()
    return {
      id: ids[form] + randomHex(),
      owner,
      ...(keyHash !== undefined && { keyHash }),
      form,
      createdAtMs,
      deadlineMs: createdAtMs + windowMs,
      times: {},
      counts: noCounts,
      usage: noUsage,
    }
  }
}

/** Before all of its requests are stored, a batch that came with them does not exist for anybody. */
function isArriving({ state, inputFileId }: Batch): boolean {
  return state === 'validating' && inputFileId === undefined
}

function refusalOf(faults: readonly { readonly message: string; readonly param: string }[]): AppError {
  const more = faults.length > 5 ? `; and ${faults.length - 5} more` : ''
  const message = faults.slice(0, 5).map((fault) => fault.message)
  return new AppError('invalid-request', `${message.join('; ')}${more}`, { param: faults[0]?.param ?? 'requests' })
}
