import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { canMount, mountHint, smallDisk } from '../../../test/support/process/small-disk.ts'
import { withFileLock } from './file-lock.ts'

async function lockPath(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-lock-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'deep', 'x.lock')
}

function deadProcess(): number {
  const { pid } = spawnSync(process.execPath, ['--version'])
  return pid
}

test('work never overlaps, and the lock is removed afterwards', async () => {
  const path = await lockPath()
  const events: string[] = []
  const work = (name: string) => async () => {
    events.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    events.push(`${name} ends`)
  }
  await Promise.all(['a', 'b', 'c'].map((name) => withFileLock(path, { pollMs: 1 }, work(name))))
  for (let index = 0; index < events.length; index += 2) {
    expect(events[index + 1]).toBe(events[index]?.replace('begins', 'ends'))
  }
  expect(events).toHaveLength(6)
  expect(existsSync(path)).toBe(false)
})

test('the lock names its holder, and is released when the work fails', async () => {
  const path = await lockPath()
  const work = async () => {
    expect(await readFile(path, 'utf8')).toBe(`process ${process.pid} on ${hostname()}`)
    throw new Error('failed')
  }
  await expect(withFileLock(path, {}, work)).rejects.toThrow('failed')
  expect(existsSync(path)).toBe(false)
})

test('a waiting caller reports the holder, and can be aborted', async () => {
  const path = await lockPath()
  const controller = new AbortController()
  const reason = new Error('stop')
  const waits: string[] = []
  const work = () => {
    const onWait = (holder: string) => {
      waits.push(holder)
      controller.abort(reason)
    }
    return withFileLock(path, { signal: controller.signal, onWait, pollMs: 1 }, async () => 'never')
  }
  await expect(withFileLock(path, {}, work)).rejects.toBe(reason)
  expect(waits).toEqual([`process ${process.pid} on ${hostname()}`])
})

test('the lock of a dead process is taken over', async () => {
  const path = await lockPath()
  await withFileLock(path, {}, async () => undefined)
  await writeFile(path, `process ${deadProcess()} on ${hostname()}`)
  expect(await withFileLock(path, {}, async () => 'done')).toBe('done')
})

test('the lock of another machine is taken over after a minute without a heartbeat', async () => {
  const path = await lockPath()
  await withFileLock(path, {}, async () => undefined)
  await writeFile(path, 'process 1 on elsewhere')
  const waits: string[] = []
  const onWait = (holder: string) => {
    waits.push(holder)
    void utimes(path, new Date(0), new Date(0))
  }
  expect(await withFileLock(path, { onWait, pollMs: 1 }, async () => 'done')).toBe('done')
  expect(waits).toEqual(['process 1 on elsewhere'])
})

test.skipIf(!canMount)(`a full disk keeps nobody from the lock, and keeps no lock${mountHint}`, async () => {
  const { folder, fill } = await smallDisk()
  const path = join(folder, 'x.lock')
  fill()
  let isHeld = false
  const work = async () => {
    expect(isHeld).toBe(false)
    isHeld = true
    await new Promise((resolve) => setImmediate(resolve))
    isHeld = false
  }
  await Promise.all([1, 2, 3].map(() => withFileLock(path, { pollMs: 1 }, work)))
  expect(existsSync(path)).toBe(false)
})
