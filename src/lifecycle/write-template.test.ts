import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { canMount, mountHint, smallDisk } from '../../test/support/process/small-disk.ts'
import { writeTemplate } from './write-template.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-templates-'))
})
afterEach(() => rm(home, { recursive: true }))

test('equal templates have one file, also when they are written at the same time', async () => {
  const source = '{{ messages[0].content }}'
  const paths = await Promise.all([writeTemplate(source, home), writeTemplate(source, home)])
  expect(new Set(paths).size).toBe(1)
  expect(await readFile(paths[0], 'utf8')).toBe(source)
  await writeTemplate('other', home)
  expect((await readdir(join(home, 'templates'))).every((name) => name.endsWith('.jinja'))).toBe(true)
  expect(await readdir(join(home, 'templates'))).toHaveLength(2)
})

test.each([
  ['{{ nope(', 'the chat template does not parse: the tag is not closed (line 1)'],
  ['x'.repeat(300_000), 'the template has 300000 characters; at most 262144 are allowed'],
])('%.10s is refused, and not kept', async (source, message) => {
  await expect(writeTemplate(source, home)).rejects.toMatchObject({
    code: 'template-failed',
    message: expect.stringContaining(message),
    at: ['settings', 'chatTemplate'],
  })
  expect(await readdir(home)).toEqual([])
})

test.skipIf(!canMount)(`a full disk leaves nothing of a template${mountHint}`, async () => {
  const { folder, fill } = await smallDisk()
  await writeTemplate('first', folder)
  fill()
  await expect(writeTemplate('x'.repeat(10_000), folder)).rejects.toThrow('ENOSPC')
  expect(await readdir(join(folder, 'templates'))).toHaveLength(1)
})
