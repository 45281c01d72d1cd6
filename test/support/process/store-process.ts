import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { StoredResponse } from '../../../src/contract/store.ts'
import type { DatabaseLocation } from '../../../src/store/open-store.ts'
import { programFlags } from './program-flags.ts'

/** What a process does with a store. */
type StoreTask =
  | { readonly type: 'open' }
  | { readonly type: 'append'; readonly conversationId: string; readonly groups: number }
  | { readonly type: 'save'; readonly responses: readonly StoredResponse[] }
  | { readonly type: 'save-until-killed' }

export type StoreWork = { readonly database: DatabaseLocation; readonly task: StoreTask }

export type StoreProcess = {
  /** Begins its work. */
  begin(): void
  /** What it stored; ends with the process. */
  readonly lines: AsyncIterable<string>
  /** The exit code. */
  readonly ended: Promise<number | null>
  kill(): void
}

/** Starts a process that is ready to begin. It ends with the test at the latest. */
export async function startStoreProcess(work: StoreWork): Promise<StoreProcess> {
  const script = fileURLToPath(new URL('./store-child.ts', import.meta.url))
  const args = [...programFlags, script, JSON.stringify(work)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value } = await lines.next()
  if (value !== 'ready') throw new Error('the process ended before it was ready')
  return {
    begin: () => child.stdin.end(),
    lines: { [Symbol.asyncIterator]: () => lines },
    ended,
    kill: () => void child.kill('SIGKILL'),
  }
}

/** Runs all these at once, and resolves with what each of them printed. */
export async function runAtOnce(works: readonly StoreWork[]): Promise<string[][]> {
  const processes = await Promise.all(works.map(startStoreProcess))
  for (const { begin } of processes) begin()
  return Promise.all(
    processes.map(async ({ lines, ended }) => {
      const printed: string[] = []
      for await (const line of lines) printed.push(line)
      const code = await ended
      if (code !== 0) throw new Error(`a process ended with ${code}`)
      return printed
    }),
  )
}
