import type { SandboxLimits } from './limits.ts'
import type { GroupPlace } from './run-group.ts'

/** A program of a model: Python, or commands of a shell. */
export type SandboxProgram = { readonly language: 'python' | 'bash'; readonly code: string }

export type SandboxJob = {
  readonly program: SandboxProgram
  /** The session's folder on this machine: the only writable one. */
  readonly folder: string
  readonly limits: SandboxLimits
}

/** How to start an isolated program, and how to end it. */
export type Launch = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The user that it runs as, if not the server's. */
  readonly user?: { readonly uid: number; readonly gid: number }
  readonly descriptors: readonly LaunchDescriptor[]
  /** The control group that it runs in, if the server can make one. */
  readonly group?: GroupPlace
  /** Ends what survives the killed command. */
  readonly end?: () => Promise<void>
}

/**
 * The contents of file descriptors 3 and up: a buffer to read; `status`, where the command writes about itself; `server`, which starts the
 * command with a line and answers each line that it writes: no program starts once the server has ended.
 */
export type LaunchDescriptor = Buffer | 'status' | 'server'

export const insideFolder = '/session'
/** The path of a Python program's code inside. */
export const insideCode = '/run/code.py'

/** The whole environment of a program. */
export function environment(pathFolders: readonly string[]): Readonly<Record<string, string>> {
  return {
    PATH: [...pathFolders, '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: insideFolder,
    TMPDIR: insideFolder,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    PYTHONIOENCODING: 'utf-8',
    // The code lies outside the session's folder, which only the session writes.
    PYTHONPATH: insideFolder,
    PYTHONDONTWRITEBYTECODE: '1',
  }
}

/** The command that starts a program inside. */
export function commandOf({ language, code }: SandboxProgram, interpreter: string): readonly string[] {
  return language === 'python' ? [interpreter, '-u', insideCode] : ['/usr/bin/env', 'bash', '-c', code]
}
