import { spawn } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { CappedText } from './capped-text.ts'
import { maxOutputBytes } from './limits.ts'
import { RunGroup } from './run-group.ts'
import type { Launch } from './sandbox.ts'

export type ProgramEnd = {
  readonly output: string
  /** Absent if the program was killed, or never started. */
  readonly exitCode?: number
  /** Why the server ended it; absent: it ended by itself. */
  readonly endedFor?: EndReason
}

/** `aborted` by the signal; or too much of something, in words. */
type EndReason = { readonly type: 'aborted' } | { readonly type: 'too-much'; readonly what: string }

/** Watches a program: `tooMuch` is called repeatedly, and names what the program uses too much of. */
export type ProgramWatch = {
  readonly everyMs: number
  /** `pid`: the first process of the program, as seen from outside. */
  tooMuch(pid: number | undefined): string | undefined | Promise<string | undefined>
}

/**
 * Runs a program to its end. It is killed with all its processes when the signal is aborted, when it writes too much and when the watch
 * finds too much; by the time this resolves, all of them have ended.
 */
export function runProgram(launch: Launch, watch: ProgramWatch, signal: AbortSignal): Promise<ProgramEnd> {
  if (signal.aborted) return Promise.resolve({ output: '', endedFor: { type: 'aborted' } })
  const { command, args, env, user, descriptors } = launch
  const child = spawn(command, args, {
    cwd: '/',
    env,
    ...user,
    // A separate group, which can be killed as a whole.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...descriptors.map(() => 'pipe' as const)],
  })
  const group = launch.group === undefined || child.pid === undefined ? undefined : RunGroup.make(launch.group)
  if (child.pid !== undefined) group?.add(child.pid)
  const text = new CappedText()
  let outputBytes = 0
  let endedFor: EndReason | undefined
  let ended: Promise<void> | undefined
  const status = new StatusReader()
  /**
   * Kills the program's first process, which ends all others. It has left the group. It also notices the end of its parent, but not early
   * enough, and not if it chooses to ignore it.
   */
  const killFirst = () => {
    if (status.pid !== undefined && isElsewhere(status.pid)) killIfThere(status.pid)
  }
  const kill = () => {
    if (child.pid === undefined) return
    group?.kill()
    killIfThere(-child.pid)
    killFirst()
  }
  const end = (reason: EndReason) => {
    if (endedFor !== undefined) return
    endedFor = reason
    kill()
    ended = launch.end?.()
  }
  const onAbort = () => end({ type: 'aborted' })
  signal.addEventListener('abort', onAbort, { once: true })
  const read = (bytes: Buffer) => {
    outputBytes += bytes.length
    if (endedFor === undefined || outputBytes <= maxOutputBytes) text.push(bytes)
    if (outputBytes > maxOutputBytes) end({ type: 'too-much', what: `wrote more than ${maxOutputBytes / 2 ** 20} MB of output` })
  }
  child.stdout?.on('data', read)
  child.stderr?.on('data', read)
  descriptors.forEach((content, index) => {
    const stream = child.stdio[index + 3] as (Readable & Writable) | null
    // A program that does not start reads nothing.
    stream?.on('error', () => undefined)
    if (Buffer.isBuffer(content)) stream?.end(content)
    else if (content === 'server') {
      stream?.write('\n')
      stream?.on('data', () => (endedFor === undefined ? stream.write('\n') : stream.destroy()))
    } else if (content === 'status') {
      stream?.on('data', (bytes: Buffer) => {
        status.push(bytes)
        if (endedFor !== undefined) kill()
        else if (child.exitCode !== null) killFirst()
      })
    }
  })
  let watching: NodeJS.Timeout | undefined
  const look = async () => {
    const what = await watch.tooMuch(status.pid)
    if (watching === undefined) return
    if (what !== undefined) end({ type: 'too-much', what })
    else watching = setTimeout(look, watch.everyMs)
  }
  watching = setTimeout(look, watch.everyMs)
  return new Promise<ProgramEnd>((resolve) => {
    child.once('error', (error) => text.push(Buffer.from(error.message)))
    child.once('exit', killFirst)
    child.once('close', async (code) => {
      clearTimeout(watching)
      watching = undefined
      signal.removeEventListener('abort', onAbort)
      await ended
      if (endedFor === undefined && group?.isExhausted) endedFor = { type: 'too-much', what: 'used more memory than it may' }
      await group?.close()
      // Node.js gives even a program that never started a code.
      const own = child.pid === undefined ? undefined : (code ?? undefined)
      const exitCode = descriptors.includes('status') ? status.exitCode : own
      resolve({
        output: text.finish(),
        ...(endedFor === undefined && exitCode !== undefined && { exitCode }),
        ...(endedFor !== undefined && { endedFor }),
      })
    })
  })
}

/** Reads bubblewrap's status of a program: a sequence of objects. */
class StatusReader {
  #text = ''

  push(bytes: Buffer): void {
    this.#text += bytes.toString('latin1')
  }

  get pid(): number | undefined {
    return this.#number(/"child-pid": (\d+)/)
  }

  get exitCode(): number | undefined {
    return this.#number(/"exit-code": (\d+)/)
  }

  #number(pattern: RegExp): number | undefined {
    const [, digits] = pattern.exec(this.#text) ?? []
    return digits === undefined ? undefined : Number(digits)
  }
}

/** Whether a process is in another process namespace than the server: its number may belong to another by now. */
function isElsewhere(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync('/proc/self/ns/pid')
  } catch {
    return false
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
