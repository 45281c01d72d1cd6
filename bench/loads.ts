import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ask } from './ask.ts'
import type { LoadOptions } from './raw-load.ts'

/** What each of the processes that make load does in one measurement. */
export type Run = LoadOptions & { readonly durationMs: number }
export type Ran = { readonly replies: number; readonly ms: number }

/** Processes that make load, so that servers with several processes are what is measured. */
export type Loads = {
  /** Replies per millisecond of all processes, each with `count` connections. Rejects when one of them gets another reply than 200. */
  run(run: Run): Promise<number>
  stop(): void
}

export async function startLoads(processes: number): Promise<Loads> {
  const path = fileURLToPath(new URL('./servers/load.ts', import.meta.url))
  const children = Array.from({ length: processes }, () => fork(path, [], { execArgv: ['--import', 'tsx'] }))
  await Promise.all(children.map((child) => ask(child)))
  return {
    async run(run) {
      const asked = children.map((child) => ask(child, run) as Promise<Ran>)
      // Also where one fails: the answers of the others would be taken for those of the next run.
      await Promise.allSettled(asked)
      return (await Promise.all(asked)).reduce((sum, { replies, ms }) => sum + replies / ms, 0)
    },
    stop: () => {
      for (const child of children) child.kill()
    },
  }
}
