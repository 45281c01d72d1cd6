import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A network of processes that reach each other on loopback, and nothing else. */
export type ClosedNetwork = {
  /** Whether the system closes it; if not, only programs that respect proxies are kept inside. */
  readonly isEnforced: boolean
  /** What a command begins with to run in it. */
  readonly prefix: readonly string[]
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** A network namespace of Linux, which a process keeps alive; where none can be made, proxies that lead nowhere. */
export async function openClosedNetwork(): Promise<ClosedNetwork> {
  const keeper = spawn('unshare', [
    '--user',
    '--map-root-user',
    '--net',
    'sh',
    '-c',
    'ip link set lo up && echo open && exec cat',
  ])
  const ended = new Promise<void>((resolve) => {
    keeper.once('close', () => resolve())
    // There is no such program.
    keeper.once('error', () => resolve())
  })
  const isEnforced = await Promise.race([once(keeper.stdout, 'data').then(() => true), ended.then(() => false)])
  const nowhere = 'http://127.0.0.1:9'
  return {
    isEnforced,
    prefix: isEnforced ? ['nsenter', '--preserve-credentials', '--user', '--net', '--target', String(keeper.pid), '--'] : [],
    env: isEnforced ? {} : { HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1,localhost' },
    close: async () => {
      // `cat` ends with its input.
      keeper.stdin.end()
      await ended
    },
  }
}
