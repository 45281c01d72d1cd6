import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findProgram } from './find-program.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-path-'))
  for (const folder of ['a/tool', 'b', 'c', 'd']) await mkdir(join(home, folder), { recursive: true })
  await writeFile(join(home, 'b', 'tool'), '')
  for (const folder of ['c', 'd']) {
    await writeFile(join(home, folder, 'tool'), '')
    await chmod(join(home, folder, 'tool'), 0o755)
  }
})
afterAll(() => rm(home, { recursive: true, force: true }))

test('the first file that can be executed is found, past folders of that name and files that cannot', () => {
  const path = ['nowhere', '', ...['a', 'b', 'c', 'd'].map((folder) => join(home, folder))].join(delimiter)
  expect(findProgram('tool', path)).toBe(join(home, 'c', 'tool'))
})

test.each([undefined, '', '/nowhere'])('nothing is found on the PATH %j', (path) => {
  expect(findProgram('tool', path)).toBeUndefined()
})
