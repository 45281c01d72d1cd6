import { availableParallelism } from 'node:os'
import { orAborted } from '../../base/time-limit.ts'
import type { ToolOutcome, ToolSession } from '../../contract/server-tool.ts'
import type { Isolation } from './isolation.ts'
import type { SandboxLimits } from './limits.ts'
import { measureFolder } from './measure-folder.ts'
import { changedPictures, findPictures } from './pictures.ts'
import { type ProgramEnd, runProgram } from './run-program.ts'
import type { SandboxProgram } from './sandbox.ts'
import type { SessionFolders } from './session-folders.ts'
import { Turns } from './turns.ts'
import { watchUse } from './watch-use.ts'

/** How one tool runs its programs. */
type RunSettings = {
  readonly isolation: Isolation
  readonly limits: SandboxLimits
  /** The time limit of a program, and also of its wait for a start. */
  readonly timeoutMs: number
}

/** The settings of a call; `onBegin` is called when its program begins. */
type Around = RunSettings & { readonly signal: AbortSignal; readonly onBegin: () => void }

const maxAtOnce = Math.max(2, availableParallelism())

/** Runs programs in the folders of their sessions: one after the other within a session, and in turns between keys. */
export class SandboxRuns {
  readonly #folders: SessionFolders
  /** The end of the newest run of each session, files included. */
  readonly #last = new Map<string, Promise<void>>()
  readonly #sessions = new Map<string, ToolSession>()
  readonly #closing = new AbortController()
  readonly #turns = new Turns(maxAtOnce)

  constructor(folders: SessionFolders) {
    this.#folders = folders
  }

  async run(session: ToolSession, program: SandboxProgram, { onBegin, timeoutMs, ...settings }: Around): Promise<ToolOutcome> {
    const key = JSON.stringify([session.principalId, session.id])
    const before = this.#last.get(key) ?? Promise.resolve()
    const latch = new Latch()
    const last = before.then(() => latch.released)
    this.#last.set(key, last)
    this.#sessions.set(key, session)
    const leave = () => {
      latch.release()
      if (this.#last.get(key) !== last) return
      void last.then(() => {
        if (this.#last.get(key) !== last) return
        this.#last.delete(key)
        this.#sessions.delete(key)
      })
    }
    const ended = AbortSignal.any([settings.signal, this.#closing.signal])
    const { principalId } = session
    try {
      const signal = AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)])
      await orAborted(before, signal)
      await this.#turns.enter(principalId, signal)
    } catch {
      leave()
      return notStarted(ended.aborted ? undefined : timeoutMs)
    }
    onBegin()
    const tooLate = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([ended, tooLate])
    return this.#runNow(session, program, { ...settings, signal }, () => {
      this.#turns.leave(principalId)
      leave()
    }).then((end) => describe(tooLate.aborted && !settings.signal.aborted ? lateEnd(end, timeoutMs) : end))
  }

  /** Resolves once the program's end is known; `leave` is called when its files are in order, too. */
  async #runNow(
    session: ToolSession,
    program: SandboxProgram,
    { isolation, limits, signal }: Pick<Around, 'isolation' | 'limits' | 'signal'>,
    leave: () => void,
  ): Promise<FinishedRun> {
    let folder: string
    let tidied: Promise<string | undefined> | undefined
    try {
      folder = await this.#folders.open(session)
      const before = await findPictures(folder)
      const launch = isolation.launch({ program, folder, limits })
      const end = await runProgram(launch, watchUse(folder, limits), signal)
      tidied = this.#tidy(session, folder, limits.diskBytes)
      // After a cancel, nobody waits for files to be measured.
      if (end.endedFor?.type === 'aborted') return end
      const emptied = await tidied
      if (emptied !== undefined) return { ...end, emptied }
      return { ...end, pictures: changedPictures(before, await findPictures(folder)) }
    } finally {
      void Promise.resolve(tidied)
        .catch(() => undefined)
        .then(leave)
    }
  }

  /** Deletes the files of a session that has too many. Returns what there was too much of. */
  async #tidy(session: ToolSession, folder: string, diskBytes: number): Promise<string | undefined> {
    await this.#folders.touch(session)
    const { tooMuch: what } = await measureFolder(folder, diskBytes)
    if (what !== undefined) await this.#folders.delete(session)
    return what
  }

  /** Marks the sessions of running programs as used. */
  async touchRunning(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#folders.touch(session).catch(() => undefined)))
  }

  /** Ends all programs. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#last.values())
  }
}

class Latch {
  release!: () => void
  readonly released = new Promise<void>((resolve) => {
    this.release = resolve
  })
}

type FinishedRun = ProgramEnd & {
  readonly pictures?: readonly string[]
  /** What there was too much of, so that the session's files were deleted. */
  readonly emptied?: string
}

/** The outcome of a program that never began, because it was cancelled or waited too long. */
function notStarted(waitedMs: number | undefined): ToolOutcome {
  if (waitedMs === undefined) return { text: 'Ended by the server before the program was started.', isError: true }
  return {
    text: `The program was not started: for ${waitedMs / 1000} s, it waited for other programs to end.`,
    isError: true,
    advice: 'Nothing was done. Try it again later, or answer without it.',
  }
}

function lateEnd(end: FinishedRun, timeoutMs: number): FinishedRun {
  return end.endedFor?.type === 'aborted'
    ? { ...end, endedFor: { type: 'too-much', what: `ran longer than ${timeoutMs / 1000} s` } }
    : end
}

function describe(run: FinishedRun): ToolOutcome {
  const { output, exitCode, endedFor, emptied, pictures = [] } = run
  const notes: string[] = []
  const isOwnEnd = endedFor === undefined && exitCode !== undefined
  if (endedFor?.type === 'too-much') notes.push(`Ended by the server: the program ${endedFor.what}.`)
  else if (endedFor !== undefined) notes.push('Ended by the server before the program was finished.')
  else if (exitCode === undefined) notes.push('The sandbox did not start the program:')
  else if (exitCode !== 0) notes.push(`Exit code ${exitCode}:`)
  if (emptied !== undefined) notes.push(`All files of the session were deleted: its programs ${emptied}.`)
  const isError = exitCode !== 0 || emptied !== undefined
  const text = [...notes, ...(output === '' && notes.length > 0 ? [] : [output])].join('\n')
  return {
    text: text === '' ? '(no output)' : text,
    isError,
    ...(isError && {
      advice: adviseAfter(emptied === undefined ? run : { ...run, endedFor: { type: 'too-much', what: emptied } }),
    }),
    ...(exitCode !== undefined && { exitCode }),
    printed: output,
    remark: notes.slice(isOwnEnd && exitCode !== 0 ? 1 : 0).join('\n'),
    ...(pictures.length > 0 && { pictures }),
  }
}

const noNetwork =
  /Network is unreachable|name resolution|Could not resolve host|Name or service not known|Connection refused|Temporary failure/i

/** A hint for the model about a program that failed. */
function adviseAfter({ output, exitCode, endedFor }: ProgramEnd): string {
  if (endedFor?.type === 'too-much' || exitCode === 137)
    return 'Do the work in smaller steps, with less data at a time and less output, instead of the same call again.'
  if (endedFor?.type === 'aborted') return 'The call had no more time: do less in one call.'
  if (noNetwork.test(output)) return 'There is no network here, so nothing can be downloaded or installed: use what is installed.'
  if (/ModuleNotFoundError|No module named|command not found/.test(output))
    return 'It is not installed and cannot be installed, as there is no network: use what is installed, such as the standard library.'
  if (/MemoryError|Cannot allocate memory|std::bad_alloc/.test(output))
    return 'The memory of a program is limited: work on less data at a time.'
  if (exitCode === 152) return 'The processor time of a program is limited: use a faster way, or less data.'
  if (exitCode === 153 || /File size limit exceeded|File too large|No space left/.test(output))
    return 'The size of files is limited: write less.'
  if (/Read-only file system|Permission denied|Operation not permitted/.test(output))
    return 'Only the current folder and /tmp can be written, and there are no other rights.'
  return 'Read the message, correct what it names, and try again with a changed call.'
}
