import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPart, PartFile } from './part-file.ts'

async function createPart(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-part-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const target = join(folder, 'm.gguf')
  await writeFile(`${target}.part`, 'the first bytes')
  await writeFile(`${target}.part.json`, JSON.stringify({ url: 'http://127.0.0.1/m.gguf', etag: '"one"', sizeBytes: 100 }))
  return target
}

test('an unfinished download continues after its last byte', async () => {
  const target = await createPart()
  const part = await PartFile.resume(target, new AbortController().signal)
  expect(part.sizeBytes).toBe('the first bytes'.length)
  await part.close()
})

test('an abort stops reading the part, and the part is kept', async () => {
  const target = await createPart()
  await expect(PartFile.resume(target, AbortSignal.abort(new Error('shutting down')))).rejects.toThrow('shutting down')
  expect(await findPart(target)).toMatchObject({ receivedBytes: 'the first bytes'.length })
})
