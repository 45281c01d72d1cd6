import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ToolOutcome, ToolSession } from '../../../src/contract/server-tool.ts'
import { findProgram } from '../../../src/tools/sandbox/find-machine.ts'
import { type SandboxToolSettings, SandboxTools } from '../../../src/tools/sandbox/sandbox-tools.ts'

export const hasSandbox = findProgram('bwrap') !== undefined
/** Why tests of the sandbox are skipped. */
export const sandboxHint = hasSandbox ? '' : ' (skipped: install bubblewrap)'

const mebibyte = 2 ** 20
const settings: SandboxToolSettings = {
  runtime: 'bubblewrap',
  timeoutMs: 60_000,
  cpuSeconds: 20,
  memoryBytes: 256 * mebibyte,
  processes: 48,
  fileBytes: 32 * mebibyte,
  diskBytes: 64 * mebibyte,
}

export type TestSandbox = {
  /** Where its sessions are. */
  readonly folder: string
  readonly box: SandboxTools
  python(code: string, options?: RunOptions): Promise<ToolOutcome>
  bash(command: string, options?: RunOptions): Promise<ToolOutcome>
  close(): Promise<void>
}

type RunOptions = { readonly session?: ToolSession; readonly signal?: AbortSignal }

export const someSession: ToolSession = { principalId: 'key', id: 'session' }
const never = new AbortController().signal

/** The tools as a server has them, in a folder of their own. */
export async function startSandbox(limits: Partial<SandboxToolSettings> = {}): Promise<TestSandbox> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-sandbox-'))
  await chmod(folder, 0o711)
  const each = { ...settings, ...limits }
  const box = new SandboxTools({ python: each, terminal: each, folder, idleMs: 3_600_000 })
  const { tools, absent } = await box.list()
  if (absent.length > 0) throw new Error(absent.map(({ name, why }) => `${name}: ${why}`).join('; '))
  const run = (name: string, given: Record<string, string>, { session = someSession, signal = never }: RunOptions = {}) => {
    const tool = tools.find((each) => each.name === name)
    if (tool === undefined) throw new Error(`there is no ${name}`)
    return tool.run({ arguments: given, session, signal })
  }
  return {
    folder,
    box,
    python: (code, options) => run('python', { code }, options),
    bash: (command, options) => run('terminal', { command }, options),
    close: async () => {
      await box.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The processes of this machine, inside and outside of sandboxes, whose command line has a text. */
export function processesWith(text: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => commandLineOf(pid).includes(text))
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}
