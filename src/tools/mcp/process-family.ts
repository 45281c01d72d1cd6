import { readdirSync, readFileSync } from 'node:fs'

/** A variable in the environment of a program and its descendants, which identifies them in any group, session and parent. */
export const markVariable = 'DRAGOMAN_PROGRAM'

type Listed = { readonly pid: number; readonly parent: number; readonly group: number }

/**
 * Signals the process group that a program leads and, where /proc exists, its descendants outside the group: the processes below it, and
 * orphans with its mark.
 */
export function signalFamily(leader: number, mark: string, signal: 'SIGTERM' | 'SIGKILL'): void {
  // Taken before any of them ends, when its children get another parent.
  const outside = membersOutside(leader, mark)
  send(-leader, signal)
  for (const pid of outside) send(pid, signal)
}

function membersOutside(leader: number, mark: string): readonly number[] {
  if (process.platform !== 'linux') return []
  const listed = listProcesses()
  const below = new Set([leader])
  for (let size = 0; size !== below.size; ) {
    size = below.size
    for (const { pid, parent } of listed) if (below.has(parent)) below.add(pid)
  }
  const isMember = ({ pid, group }: Listed) => group !== leader && (below.has(pid) || isMarked(pid, mark))
  return listed.filter(isMember).map(({ pid }) => pid)
}

function listProcesses(): readonly Listed[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return ids.flatMap((id) => {
    const text = readIfThere(`/proc/${id}/stat`)
    // After the name of the program, which may contain spaces and parentheses: the state, the parent, the group.
    const [, parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return parent === undefined ? [] : [{ pid: Number(id), parent: Number(parent), group: Number(group) }]
  })
}

function isMarked(pid: number, mark: string): boolean {
  return readIfThere(`/proc/${pid}/environ`).split('\0').includes(`${markVariable}=${mark}`)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // The process has ended, or is another user's.
    return ''
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch (error) {
    // It has already ended, or has become another user's and cannot be ended.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
