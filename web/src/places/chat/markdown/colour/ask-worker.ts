import type { Runs } from './run-emitter.ts'
import type { ColourJob } from './worker.ts'

/** A worker without work ends after this time, and one with work after the other: a language's patterns may take for ever. */
const idleMs = 30_000
const longestMs = 10_000

let worker: Worker | undefined
let timer = 0
let lastId = 0
const waiting = new Map<number, (runs: Runs | undefined) => void>()

/** The runs of code, found in a worker; undefined: the language is not known, or the worker failed. */
export function runsOf(language: string, code: string): Promise<Runs | undefined> {
  worker ??= startWorker()
  lastId += 1
  const job: ColourJob = { id: lastId, language, code }
  return new Promise((resolve) => {
    waiting.set(job.id, resolve)
    worker?.postMessage(job)
    endAfter(longestMs)
  })
}

function startWorker(): Worker {
  const started = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  started.onmessage = ({ data }: MessageEvent<{ readonly id: number; readonly runs?: Runs }>) => {
    waiting.get(data.id)?.(data.runs)
    waiting.delete(data.id)
    endAfter(waiting.size === 0 ? idleMs : longestMs)
  }
  started.onerror = end
  return started
}

function endAfter(ms: number): void {
  clearTimeout(timer)
  timer = window.setTimeout(end, ms)
}

function end(): void {
  worker?.terminate()
  worker = undefined
  for (const resolve of waiting.values()) resolve(undefined)
  waiting.clear()
}
