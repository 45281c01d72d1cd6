import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPart, PartFile } from './part-file.ts'

async function createPart(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-part-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const target = join(folder, 'm.gguf')
  await writeFile(`${target}.part`, 'what came so far')
  await writeFile(`${target}.part.json`, JSON.stringify({ url: 'http://127.0.0.1/m.gguf', etag: '"one"', sizeBytes: 100 }))
  return target
}

test('an unfinished download goes on behind what it has', async () => {
  const target = await createPart()
  const part = await PartFile.resume(target, new AbortController().signal)
  expect(part.sizeBytes).toBe('what came so far'.length)
  await part.close()
})

test('reading what is there stops when nobody wants it any more, and what is there stays', async () => {
  const target = await createPart()
  await expect(PartFile.resume(target, AbortSignal.abort(new Error('shutting down')))).rejects.toThrow('shutting down')
  expect(await findPart(target)).toMatchObject({ receivedBytes: 'what came so far'.length })
})
