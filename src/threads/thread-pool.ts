import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadSource } from './thread-module.ts'

type Options = {
  /** The module that the threads run: it posts `ready`, then one reply per request. */
  readonly module: URL
  /** The time limit of one reply, counted from each start of its work. */
  readonly timeoutMs: number
  /** How long work may keep others waiting; after that it continues on one thread only, or restarts behind them. */
  readonly sliceMs?: number
}

type Job<Request, Reply> = {
  readonly request: Request
  readonly settle: (reply: Reply | undefined) => void
  isLate: boolean
  deadline: NodeJS.Timeout | undefined
}

type Seat<Request, Reply> = {
  thread: Worker | undefined
  job: Job<Request, Reply> | undefined
  /** When the work began; infinite while its thread starts. */
  sinceMs: number
  /** Aborted when the work is interrupted. */
  attempt: AbortController
}

/** With two threads, slow work of one caller leaves a thread for the short work of others. */
const seats = 2
const defaultSliceMs = 250

/**
 * Runs work whose duration callers control, in threads that are terminated at a deadline. Work that takes longer than a slice does not
 * delay other work. Threads start at their first use, and do not keep the process alive.
 */
export class ThreadPool<Request, Reply> {
  readonly #module: URL
  readonly #timeoutMs: number
  readonly #sliceMs: number
  readonly #fresh: Job<Request, Reply>[] = []
  /** Work that was interrupted for others. */
  readonly #late: Job<Request, Reply>[] = []
  readonly #seats: Seat<Request, Reply>[] = Array.from({ length: seats }, () => ({
    thread: undefined,
    job: undefined,
    sinceMs: 0,
    attempt: new AbortController(),
  }))
  #reminder: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ module, timeoutMs, sliceMs = defaultSliceMs }: Options) {
    this.#module = module
    this.#timeoutMs = timeoutMs
    this.#sliceMs = sliceMs
  }

  /** Undefined if the work missed its deadline or was aborted, its thread failed, or the pool was closed. */
  request(request: Request, signal?: AbortSignal): Promise<Reply | undefined> {
    if (this.#isClosed || signal?.aborted === true) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const leave = () => this.#giveUp(job)
      const job: Job<Request, Reply> = {
        request,
        isLate: false,
        deadline: undefined,
        settle: (reply) => {
          clearTimeout(job.deadline)
          signal?.removeEventListener('abort', leave)
          resolve(reply)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#fresh.push(job)
      this.#schedule()
    })
  }

  /** Pending requests resolve to undefined. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#reminder)
    for (const job of [...this.#fresh.splice(0), ...this.#late.splice(0)]) job.settle(undefined)
    await Promise.all(
      this.#seats.map((seat) => {
        seat.job?.settle(undefined)
        return stop(seat)
      }),
    )
  }

  #schedule(): void {
    if (this.#isClosed) return
    for (const seat of this.#seats) {
      if (seat.job !== undefined) continue
      const isLateBusy = this.#seats.some(({ job }) => job?.isLate === true)
      const job = this.#fresh.shift() ?? (isLateBusy ? undefined : this.#late.shift())
      if (job !== undefined) this.#run(seat, job)
    }
    if (this.#fresh.length > 0) this.#makeRoom()
  }

  /** Someone waits: all work past its slice, except one job, will restart later. */
  #makeRoom(): void {
    clearTimeout(this.#reminder)
    const now = performance.now()
    const overdue = this.#seats.filter(({ job, sinceMs }) => job !== undefined && now - sinceMs >= this.#sliceMs)
    overdue.sort((a, b) => Number(b.job?.isLate) - Number(a.job?.isLate) || a.sinceMs - b.sinceMs)
    for (const [index, seat] of overdue.entries()) {
      const { job } = seat
      if (job === undefined) continue
      job.isLate = true
      if (index === 0) continue
      clearTimeout(job.deadline)
      this.#late.push(job)
      void stop(seat)
    }
    if (overdue.length > 1) {
      this.#schedule()
      return
    }
    const others = this.#seats.filter((seat) => !overdue.includes(seat))
    const nextMs = Math.min(...others.map(({ sinceMs }) => sinceMs + this.#sliceMs))
    // A starting thread takes up its work by itself.
    if (Number.isFinite(nextMs)) this.#reminder = setTimeout(() => this.#schedule(), Math.max(1, nextMs - now))
  }

  #run(seat: Seat<Request, Reply>, job: Job<Request, Reply>): void {
    const attempt = new AbortController()
    Object.assign(seat, { job, attempt, sinceMs: Number.POSITIVE_INFINITY })
    void this.#reply(seat, job, attempt.signal).then((reply) => {
      if (attempt.signal.aborted) return
      seat.job = undefined
      job.settle(reply)
      this.#schedule()
    })
  }

  async #reply(seat: Seat<Request, Reply>, job: Job<Request, Reply>, signal: AbortSignal): Promise<Reply | undefined> {
    try {
      const thread = seat.thread ?? (await startThread(this.#module))
      if (signal.aborted) {
        void thread.terminate()
        return undefined
      }
      seat.thread = thread
      seat.sinceMs = performance.now()
      job.deadline = setTimeout(() => this.#giveUp(job), this.#timeoutMs)
      const replied = once(thread, 'message', { signal })
      thread.postMessage(job.request)
      // Others may wait for the end of its slice.
      if (this.#fresh.length > 0) this.#makeRoom()
      return ((await replied) as [Reply])[0]
    } catch {
      // Interrupted, out of memory, or not started: the next request gets a new thread.
      if (!signal.aborted) void seat.thread?.terminate()
      if (!signal.aborted) seat.thread = undefined
      return undefined
    }
  }

  #giveUp(job: Job<Request, Reply>): void {
    job.settle(undefined)
    for (const waiting of [this.#fresh, this.#late]) {
      const at = waiting.indexOf(job)
      if (at !== -1) waiting.splice(at, 1)
    }
    for (const seat of this.#seats) if (seat.job === job) void stop(seat)
    this.#schedule()
  }
}

/** Interrupts the work of a seat, which is free afterwards. */
async function stop<Request, Reply>(seat: Seat<Request, Reply>): Promise<void> {
  seat.attempt.abort()
  const { thread } = seat
  seat.job = undefined
  seat.thread = undefined
  await thread?.terminate()
}

async function startThread(module: URL): Promise<Worker> {
  const thread = new Worker(threadSource(module), {
    eval: true,
    execArgv: [],
    // It processes untrusted input, and needs no secrets.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 192 },
  })
  thread.unref()
  await once(thread, 'message')
  // A failure between two requests shows in the next one, which gets no reply in time.
  thread.on('error', () => undefined)
  return thread
}
