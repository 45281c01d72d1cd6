import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createApiKey, ensureApiKey, hashApiKey } from './api-key.ts'

async function pathOfNoFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'dragoman-key-')), 'home', 'api-keys.json')
}

describe('an API key', () => {
  test('has our prefix and 32 characters, and no two are equal', () => {
    expect(createApiKey()).toMatch(/^sk-dragoman-[0-9A-Za-z]{32}$/)
    expect(createApiKey()).not.toBe(createApiKey())
  })

  test('is kept as its SHA-256', () => {
    expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  })
})

describe('the key file', () => {
  test('is made once: the key is shown then, and never again', async () => {
    const path = await pathOfNoFile()
    const first = await ensureApiKey(path)
    expect(first.hashes).toEqual([hashApiKey(first.createdKey ?? '')])
    expect(await ensureApiKey(path)).toEqual({ hashes: first.hashes })
  })

  test('holds no key, is for its owner only, and leaves nothing beside it', async () => {
    const path = await pathOfNoFile()
    const { createdKey } = await ensureApiKey(path)
    expect(await readFile(path, 'utf8')).not.toContain(createdKey)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(dirname(path))).toEqual(['api-keys.json'])
  })

  test('processes that start together agree on one key', async () => {
    const path = await pathOfNoFile()
    const results = await Promise.all(Array.from({ length: 5 }, () => ensureApiKey(path)))
    expect(results.filter(({ createdKey }) => createdKey !== undefined)).toHaveLength(1)
    expect(new Set(results.map(({ hashes }) => hashes.join())).size).toBe(1)
  })

  test.each(['', '{"apiKeyHashes": []}', '{"apiKeyHashes": ["sk-plain"]}'])(
    'a damaged one (%j) is an error that says so',
    async (text) => {
      const path = await pathOfNoFile()
      await ensureApiKey(path)
      await writeFile(path, text)
      await expect(ensureApiKey(path)).rejects.toThrow(/is damaged; delete it/)
    },
  )
})
