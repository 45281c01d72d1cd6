import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RunGroup } from '../../../src/tools/sandbox/run-group.ts'

/** Where control groups of version 2 are, if this process may make some: of root. */
const folder = findFolder()
const hasMemory = folder !== undefined && /\bmemory\b/.test(readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8'))

function findFolder(): string | undefined {
  const [, mounted] = /^\S+ (\S+) cgroup2 rw/m.exec(existsSync('/proc/mounts') ? readFileSync('/proc/mounts', 'utf8') : '') ?? []
  if (mounted === undefined) return undefined
  const trial = join(mounted, `dragoman-trial-${process.pid}`)
  try {
    mkdirSync(trial)
    rmdirSync(trial)
    return mounted
  } catch {
    return undefined
  }
}

const ours = () => readdirSync(folder as string).filter((name) => /^dragoman-/.test(name) && name.includes(`-${process.pid}-`))

/** Starts a shell command when it is in the group. */
function startIn(group: RunGroup, command: string): ChildProcess {
  const child = spawn('bash', ['-c', `read -r; ${command}`], { stdio: ['pipe', 'ignore', 'ignore'] })
  expect(group.add(child.pid as number)).toBe(true)
  child.stdin?.end('\n')
  return child
}

test.runIf(folder !== undefined)('a control group ends all that is in it, and is gone', async () => {
  const path = join(folder as string, `dragoman-test-${process.pid}-0`)
  mkdirSync(path)
  const group = new RunGroup(path)
  const child = startIn(group, 'setsid sleep 600 & exec sleep 600')
  const ended = once(child, 'exit')
  await group.close()
  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(ours()).toEqual([])
})

if (hasMemory) {
  test('the kernel ends a group that uses too much memory, also where no process shows it', async () => {
    const group = RunGroup.make({ folder: folder as string, memoryBytes: 64 * 2 ** 20 }) as RunGroup
    const child = startIn(group, 'for i in {1..20}; do head -c 16M /dev/zero > /dev/shm/dragoman-$$-$i; done; sleep 600')
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
    expect(group.isExhausted).toBe(true)
    await group.close()
    expect(ours()).toEqual([])
  })
} else {
  test.runIf(folder !== undefined)('where memory has no limit by group, none is made and nothing left', () => {
    expect(RunGroup.make({ folder: folder as string, memoryBytes: 2 ** 20 })).toBeUndefined()
    expect(ours()).toEqual([])
  })
}
