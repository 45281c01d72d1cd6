import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensureApiKeyFile, hashApiKey } from './api-key-file.ts'

async function missingFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'home', 'api-keys.json')
}

test('a key is stored as its SHA-256', () => {
  expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('a created key has a prefix and 32 characters, and no two are equal', async () => {
  const first = await ensureApiKeyFile(await missingFile())
  const second = await ensureApiKeyFile(await missingFile())
  expect(first.createdKey).toMatch(/^sk-dragoman-[0-9A-Za-z]{32}$/)
  expect(second.createdKey).not.toBe(first.createdKey)
})

test('the file is created once, and only then its key is returned', async () => {
  const path = await missingFile()
  const first = await ensureApiKeyFile(path)
  expect(first.hashes).toEqual([hashApiKey(first.createdKey ?? '')])
  expect(await ensureApiKeyFile(path)).toEqual({ hashes: first.hashes })
})

test('the file does not contain the key, belongs to its owner only, and is alone in its folder', async () => {
  const path = await missingFile()
  const { createdKey } = await ensureApiKeyFile(path)
  expect(await readFile(path, 'utf8')).not.toContain(createdKey)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(dirname(path))).toEqual(['api-keys.json'])
})

test('processes that start together agree on one key', async () => {
  const path = await missingFile()
  const results = await Promise.all(Array.from({ length: 5 }, () => ensureApiKeyFile(path)))
  expect(results.filter(({ createdKey }) => createdKey !== undefined)).toHaveLength(1)
  expect(new Set(results.map(({ hashes }) => hashes.join())).size).toBe(1)
})

test.each(['', '{"apiKeyHashes": []}', '{"apiKeyHashes": ["sk-plain"]}'])('the damaged file %j is an error', async (text) => {
  const path = await missingFile()
  await ensureApiKeyFile(path)
  await writeFile(path, text)
  await expect(ensureApiKeyFile(path)).rejects.toThrow(/is damaged; delete it/)
})
