import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SessionFolders } from './session-folders.ts'

test('idle sessions are deleted, and other folders beside them stay', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-sessions-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'photos'))
  const sessions = new SessionFolders({ folder, idleMs: 1000 })
  await sessions.open({ principalId: 'anyone', id: 'a' })
  expect(await readdir(folder)).toHaveLength(2)
  await sessions.deleteIdle(Date.now() + 60_000)
  expect(await readdir(folder)).toEqual(['photos'])
})
