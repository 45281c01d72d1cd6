import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { encodeGguf, type GgufValue } from '../../../test/support/llama/gguf-writer.ts'
import { draftTypeOf } from './draft-type.ts'

test.each([
  ['eagle3', 'eagle3'],
  ['gemma4-assistant', 'mtp'],
  ['llama', undefined],
])('a file of the architecture %s drafts as %s', async (architecture, expected) => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-draft-type-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'draft.gguf')
  const name: GgufValue = { type: 'string', value: architecture }
  await writeFile(path, encodeGguf(new Map([['general.architecture', name]]), []))
  expect(await draftTypeOf(path)).toBe(expected)
})

test('a file that is no model has no type', async () => {
  expect(await draftTypeOf(import.meta.filename)).toBeUndefined()
})
