import type { SandboxLimits } from './limits.ts'
import type { GroupPlace } from './run-group.ts'

/** A program of a model: Python, or commands of a shell. */
export type SandboxProgram = { readonly language: 'python' | 'bash'; readonly code: string }

/** What a program of a session runs with. */
export type SandboxJob = {
  readonly program: SandboxProgram
  /** The session's folder on this machine: the only one that is written. */
  readonly folder: string
  readonly limits: SandboxLimits
}

/** How to start a program that is isolated, and how to end it. */
export type Launch = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The user that it runs as, where that is not the server's. */
  readonly user?: { readonly uid: number; readonly gid: number }
  readonly descriptors: readonly LaunchDescriptor[]
  /** The control group that it runs in, where the server can make one. */
  readonly group?: GroupPlace
  /** Ends what killing the command leaves. */
  readonly end?: () => Promise<void>
}

/**
 * What is at file descriptor 3 and those that follow: content to read; `status`, where the command writes about itself; `server`, where the
 * command reads a line when all is ready for it, and the answer to each line that it writes: no program starts when the server has ended.
 */
export type LaunchDescriptor = Buffer | 'status' | 'server'

/** Where the session's folder is inside. */
export const insideFolder = '/session'
/** Where the code of a Python program is inside. */
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
    // The code is outside of the session's folder, which only the session writes.
    PYTHONPATH: insideFolder,
    PYTHONDONTWRITEBYTECODE: '1',
  }
}

/** What starts a program inside. */
export function commandOf({ language, code }: SandboxProgram, interpreter: string): readonly string[] {
  return language === 'python' ? [interpreter, '-u', insideCode] : ['/usr/bin/env', 'bash', '-c', code]
}
