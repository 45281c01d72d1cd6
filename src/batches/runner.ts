import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { steadyMs } from '../base/steady-ms.ts'
import { AppError } from '../contract/errors.ts'
import type { ModelViewer } from '../contract/principal.ts'
import type { Batch, ClaimedLine, LineResult } from '../contract/server/batches.ts'
import { type BatchDeps, type LineReply, leaseMs } from './deps.ts'
import { LineOrder } from './line-order.ts'
import { isAway, isSuccess, type KnownAway, messageIn, outcomeOf } from './line-outcome.ts'
import { linesAhead, type ModelWork, needsLines, noteClaim } from './model-work.ts'
import { openLines } from './states.ts'
import { finalize, readInput } from './transitions.ts'

/** How often leases are renewed and batches of other processes are found. */
const roundMs = 2000
/** Results that come within this time are stored together, while other lines run. */
const flushMs = 200
/** The pause of a model after a line that nobody answers; after each, it is twice as long, up to the second. */
const [firstAwayMs, mostAwayMs] = [1000, 30_000]
/** When nobody has answered for this long, it is tried more seldom, and a failure may be due to the line. */
const [awayPatienceMs, longAwayMs] = [3_600_000, 300_000]
/** A limit of a key is tried again after this long: it may have become higher. */
const mostPauseMs = 60_000
/** A line that has given up its slot this often keeps the next one. */
const maxYields = 3

type Running = {
  readonly batchId: string
  readonly stop: AbortController
  yields: number
}

/** Runs the batches of the store, beside other processes that do so. */
export class BatchRunner {
  readonly #deps: BatchDeps
  /** This process, for leases. */
  readonly #runner = randomUUID()
  readonly #work = new Map<string, ModelWork>()
  readonly #running = new Map<ClaimedLine, Running>()
  readonly #runs = new Set<Promise<void>>()
  readonly #yields = new Map<string, number>()
  readonly #ended: (LineResult & { batchId: string; line: number })[] = []
  readonly #changing = new Set<string>()
  /** Until when lines of a caller for a model wait. */
  readonly #pauses = new Map<string, number>()
  /** Those that wait for nothing any more. */
  readonly #released = new WeakSet<Batch>()
  /** The batches whose lines run, by id. */
  #batches: ReadonlyMap<string, Batch> = new Map()
  #turn = 0
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #isRoundWanted = false
  #flushing: Promise<void> | undefined
  #isClosed = false

  constructor(deps: BatchDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#timer ??= setInterval(() => this.wake(), roundMs).unref()
    this.wake()
  }

  /** Looks for work now. */
  wake(): void {
    if (this.#isClosed) return
    if (this.#round !== undefined) {
      this.#isRoundWanted = true
      return
    }
    this.#round = this.#look()
      .catch((error: unknown) => this.#deps.onFailure(error, 'the batches could not be read; they are read again'))
      .finally(() => {
        this.#round = undefined
        if (!this.#isRoundWanted) return
        this.#isRoundWanted = false
        this.wake()
      })
  }

  /** Stops the lines that run here and gives all lines back, for another process or a later start. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#round
    const ready = [...this.#work.values()].flatMap(({ order }) => order.remove(() => true))
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.all([...this.#work.values()].map(({ claiming }) => claiming))
    await this.#store(() => Promise.all(ready.map((line) => this.#giveBack(line, line.attempts, 0))))
    await Promise.all(this.#runs)
    while (this.#flushing !== undefined) await this.#flushing
    if (this.#ended.length > 0) await this.#flush()
  }

  async #look(): Promise<void> {
    const { store, wallClock } = this.#deps
    // Not all lines that the store has for this process: one whose claim or return failed is free when its lease ends.
    const own = [...this.#running.keys(), ...this.#ended, ...[...this.#work.values()].flatMap(({ order }) => order.lines)]
    if (own.length > 0) await store.renew(this.#runner, own, wallClock() + leaseMs)
    if (this.#ended.length > 0) await this.#flushSoon()
    const active = await store.active()
    this.#deps.onLeft(active.reduce((sum, { counts }) => sum + openLines(counts), 0))
    if (active.length > 0) await store.freeAbandoned()
    for (const batch of active) await this.#advance(batch)
    this.#batches = new Map(active.filter(({ state }) => state === 'running').map((batch) => [batch.id, batch]))
    for (const { batchId, stop } of this.#running.values()) if (!this.#batches.has(batchId)) stop.abort()
    await this.#openModels()
    for (const work of this.#work.values()) this.#pump(work)
  }

  /** Brings a batch to its next state, if it is time. */
  async #advance(batch: Batch): Promise<void> {
    const { store, wallClock } = this.#deps
    const { id, state } = batch
    if (state === 'validating') return this.#change(batch, readInput)
    if (state === 'cancelling') await store.endWaiting(id, 'cancelled')
    else if (wallClock() >= batch.deadlineMs) await store.endWaiting(id, 'expired')
    if (!(await store.hasWork(id))) await this.#finalize(batch)
  }

  async #finalize({ id }: Batch): Promise<void> {
    const { store, wallClock } = this.#deps
    const finalizing = await store.change(id, (batch) =>
      batch.state === 'running'
        ? { ...batch, state: 'finalizing', times: { ...batch.times, finalizingMs: wallClock() } }
        : undefined,
    )
    const batch = finalizing ?? (await store.active()).find((one) => one.id === id)
    if (batch !== undefined) await this.#change(batch, finalize)
  }

  /** Begins a long change, which one process makes; not awaited, so that other batches run meanwhile. */
  async #change({ id, state }: Batch, make: typeof readInput): Promise<void> {
    const { store, wallClock, onFailure } = this.#deps
    if (this.#changing.has(id)) return
    const nowMs = wallClock()
    const held = await store.change(id, (batch) => {
      // Another process may have made the change since the batch was read.
      const isOpen = batch.state === state && (batch.leaseUntilMs ?? 0) <= nowMs
      return isOpen ? { ...batch, leaseUntilMs: nowMs + leaseMs } : undefined
    })
    if (held === undefined) return
    this.#changing.add(id)
    void make(this.#deps, held)
      .catch((error: unknown) => onFailure(error, `the batch '${id}' could not go on; it is tried again`))
      .finally(() => {
        this.#changing.delete(id)
        this.wake()
      })
  }

  async #openModels(): Promise<void> {
    const { store } = this.#deps
    for (const { id, keyHash } of this.#batches.values()) {
      const principal = await this.#deps.findPrincipal(keyHash)
      for (const name of await store.waitingModels(id)) {
        const load = await this.#loadOf(name, principal ?? {})
        const work = this.#work.get(name)
        if (work === undefined)
          this.#work.set(name, {
            name,
            load,
            order: new LineOrder(),
            running: 0,
            away: undefined,
            claiming: undefined,
            claimed: { atMs: 0, wanted: 0, ended: 0 },
            emptied: new Set(),
          })
        else work.load = load
      }
    }
  }

  /** Lines for a model that is gone are sent, too: they get the reply of any request for it. */
  async #loadOf(name: string, viewer: ModelViewer): Promise<ModelWork['load']> {
    try {
      const { scheduler, engine } = await this.#deps.models.find(name, viewer)
      return () => ({ ...scheduler.load, isSeparate: engine.facts?.hasSeparateSlots === true })
    } catch {
      return () => ({ slots: 1, busy: 0, queued: 0, isSeparate: false })
    }
  }

  /** Sends lines while there are free slots, and one more, if it suits all slots, which waits for the next behind all others. */
  #pump(work: ModelWork): void {
    if (this.#isClosed || (work.away?.untilMs ?? 0) > this.#deps.wallClock()) return
    const { slots: all, backgroundSlots: slots = all, busy, queued, isSeparate } = work.load()
    work.order.separateSlots = isSeparate ? slots : undefined
    const others = Math.max(0, busy + queued - work.running)
    const free = Math.max(0, slots - others)
    // While nobody answers, one line tries it.
    while (work.running <= (work.away === undefined ? free : 0)) {
      const line = work.order.take(steadyMs(), { isAhead: work.running === free, more: (id) => this.#leftOf(id, work) })
      if (line === undefined) break
      const run = this.#run(line, work).finally(() => this.#runs.delete(run))
      this.#runs.add(run)
    }
    if (needsLines(work, slots)) work.claiming ??= this.#claim(work, slots).finally(() => (work.claiming = undefined))
  }

  /** About how many lines of a batch the store has that are not here. */
  #leftOf(id: string, { emptied, order }: ModelWork): number {
    const batch = this.#batches.get(id)
    if (batch === undefined || emptied.has(id)) return 0
    return Math.max(0, openLines(batch.counts) - order.waiting)
  }

  /** Batches take turns, so that no caller waits for another's to end. */
  async #claim(work: ModelWork, slots: number): Promise<void> {
    const { store, wallClock, onFailure } = this.#deps
    const nowMs = wallClock()
    const wanted = linesAhead(work.claimed, nowMs, slots)
    const limit = wanted - work.order.waiting
    if (limit <= 0) return
    try {
      const batches = [...this.#batches.values()].filter((batch) => !this.#isPaused(batch, work))
      this.#turn += 1
      for (let index = 0; index < batches.length; index += 1) {
        const { id } = batches[(this.#turn + index) % batches.length] as Batch
        const lines = await store.claim(id, {
          model: work.name,
          runner: this.#runner,
          limit,
          groupings: slots,
          ready: work.order.waitingOf(id),
          untilMs: wallClock() + leaseMs,
        })
        work.order.add(lines)
        if (lines.length < limit) work.emptied.add(id)
        else work.emptied.delete(id)
        if (lines.length === 0) continue
        noteClaim(work, wanted, nowMs)
        queueMicrotask(() => this.#pump(work))
        break
      }
    } catch (error) {
      onFailure(error, 'the lines of batches could not be read; they are read again')
    }
  }

  async #run(line: ClaimedLine, work: ModelWork): Promise<void> {
    const { findPrincipal, send, wallClock } = this.#deps
    const batch = this.#batches.get(line.batchId)
    const running: Running = { batchId: line.batchId, stop: new AbortController(), yields: this.#yieldsOf(line) }
    work.running += 1
    this.#running.set(line, running)
    try {
      if (batch === undefined) return await this.#giveBack(line, line.attempts, 0)
      const principal = await findPrincipal(batch.keyHash)
      let isWanted = false
      const onWanted = () => {
        isWanted = true
        running.stop.abort()
      }
      const onRead = () => {
        work.order.read(line, steadyMs())
        queueMicrotask(() => this.#pump(work))
      }
      const sent = { batch: batch.id, endpoint: batch.endpoint, body: line.body, principal, signal: running.stop.signal, onRead }
      const given = { ...sent, ...(running.yields < maxYields && { onWanted }) }
      const reply = await send(given).catch((error: unknown) => this.#failureOf(error, batch, running.stop.signal))
      // A reply that was complete before the stop is kept.
      if (running.stop.signal.aborted && !isSuccess(reply)) {
        if (isWanted) this.#yields.set(keyOf(line), running.yields + 1)
        if (isWanted || this.#isClosed) return await this.#giveBack(line, line.attempts, 0)
        return this.#finish(line, { ending: 'cancelled' })
      }
      work.order.read(line, steadyMs())
      const outcome = outcomeOf(reply, line.attempts, this.#knownAway(line, work))
      if (isAway(reply)) await this.#wait(batch, work, reply, line)
      else work.away = undefined
      if (isSuccess(reply)) await this.#release(line.batchId)
      if (outcome.type === 'ended') return this.#finish(line, outcome.result)
      const { ofCaller: reason, afterMs, attempts } = outcome
      const pauseMs = reason === undefined ? afterMs : Math.min(afterMs, mostPauseMs)
      if (reason !== undefined) await this.#pause(batch, work, { reason, untilMs: wallClock() + afterMs }, pauseMs)
      await this.#giveBack(line, attempts, wallClock() + pauseMs)
    } catch (error) {
      this.#deps.onFailure(error, 'the key of a batch could not be looked up; its line runs again')
      await this.#giveBack(line, line.attempts, wallClock() + roundMs)
    } finally {
      work.running -= 1
      work.claimed.ended += 1
      work.order.ended(line, steadyMs())
      this.#running.delete(line)
      this.#pump(work)
    }
  }

  /** A request without a reply, as a reply. */
  #failureOf(error: unknown, { form, id }: Batch, { aborted }: AbortSignal): LineReply {
    if (!aborted) this.#deps.onFailure(error, `a request of the batch '${id}' got no reply`)
    const { status, body } = this.#deps.words.encodeError(form, AppError.from(error))
    return { status, requestId: '', body: JSON.stringify(body) }
  }

  #knownAway(line: ClaimedLine, { away }: ModelWork): KnownAway {
    if (away === undefined) return undefined
    return away.by !== keyOf(line) && this.#deps.wallClock() - away.sinceMs < awayPatienceMs ? 'likely' : 'maybe'
  }

  /** Nobody answers: the lines of the model wait. */
  async #wait({ id }: Batch, work: ModelWork, reply: LineReply, line: ClaimedLine): Promise<void> {
    const nowMs = this.#deps.wallClock()
    const { sinceMs, count, untilMs: lastMs } = work.away ?? { sinceMs: nowMs, count: 0, untilMs: 0 }
    // One of those that were sent together.
    if (lastMs > nowMs) return
    const mostMs = nowMs - sinceMs < awayPatienceMs ? mostAwayMs : longAwayMs
    const untilMs = nowMs + Math.max(reply.retryAfterMs ?? 0, Math.min(mostMs, firstAwayMs * 2 ** count))
    work.away = { sinceMs, count: count + 1, untilMs, by: keyOf(line) }
    const waits = { reason: messageIn(reply), untilMs }
    await this.#store(() => this.#deps.store.change(id, (now) => ({ ...now, waits })))
  }

  /** A limit of the key stops all lines of the caller for this model until it allows more. */
  async #pause(batch: Batch, work: ModelWork, waits: NonNullable<Batch['waits']>, pauseMs: number): Promise<void> {
    const untilMs = this.#deps.wallClock() + pauseMs
    this.#pauses.set(pauseOf(batch, work), untilMs)
    const own = work.order.remove(({ batchId }) => this.#batches.get(batchId)?.owner === batch.owner)
    await this.#store(async () => {
      await Promise.all(own.map((line) => this.#giveBack(line, line.attempts, untilMs)))
      await this.#deps.store.change(batch.id, (now) => ({ ...now, waits }))
    })
  }

  /** A line was answered: its batch no longer waits. */
  async #release(id: string): Promise<void> {
    const batch = this.#batches.get(id)
    if (batch?.waits === undefined || this.#released.has(batch)) return
    this.#released.add(batch)
    await this.#store(() => this.#deps.store.change(id, ({ waits: _, ...now }) => now))
  }

  #isPaused(batch: Batch, work: ModelWork): boolean {
    const key = pauseOf(batch, work)
    const untilMs = this.#pauses.get(key)
    if (untilMs === undefined) return false
    if (untilMs > this.#deps.wallClock()) return true
    this.#pauses.delete(key)
    return false
  }

  async #giveBack(line: ClaimedLine, attempts: number, notBeforeMs: number): Promise<void> {
    const { batchId, line: number } = line
    await this.#store(() => this.#deps.store.giveBack(this.#runner, { batchId, line: number, attempts, notBeforeMs }))
  }

  #finish({ batchId, line }: ClaimedLine, result: LineResult): void {
    this.#yields.delete(keyOf({ batchId, line }))
    this.#ended.push({ batchId, line, ...result })
    this.#deps.onEnded(result)
    void this.#flushSoon()
  }

  #flushSoon(): Promise<void> {
    this.#flushing ??= this.#flush().then((isStored) => {
      this.#flushing = undefined
      if (isStored && this.#ended.length > 0) void this.#flushSoon()
    })
    return this.#flushing
  }

  /** Results that cannot be stored are kept for the next round. Resolves with whether they are stored. */
  async #flush(): Promise<boolean> {
    if (this.#running.size > 1) await pause(flushMs)
    const results = this.#ended.slice()
    const isStored = await this.#store(() => this.#deps.store.finish(this.#runner, results))
    if (isStored) this.#ended.splice(0, results.length)
    if (this.#running.size === 0 && isStored) this.wake()
    return isStored
  }

  /** A line that is not given back is free when its lease ends. */
  async #store(write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write()
      return true
    } catch (error) {
      this.#deps.onFailure(error, 'the store does not take what became of lines of a batch; it is tried again')
      return false
    }
  }

  #yieldsOf(line: ClaimedLine): number {
    return this.#yields.get(keyOf(line)) ?? 0
  }
}

function keyOf({ batchId, line }: Pick<ClaimedLine, 'batchId' | 'line'>): string {
  return `${batchId} ${line}`
}

function pauseOf({ owner }: Batch, { name }: ModelWork): string {
  return `${owner} ${name}`
}
