import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { canMount, mountHint, smallDisk } from '../../../test/support/process/small-disk.ts'
import { ApiKeyFile } from './api-key-file.ts'
import { hashApiKey, keyId } from './made-keys.ts'

async function missingFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-key-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'home', 'api-keys.json')
}

async function fileWith(text: string): Promise<string> {
  const path = await missingFile()
  await mkdir(dirname(path))
  await writeFile(path, text)
  return path
}

test('a key is stored as its SHA-256', () => {
  expect(hashApiKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('a created key has a prefix and 32 characters, and no two are equal', async () => {
  const file = new ApiKeyFile(await missingFile())
  const first = await file.add({ scopes: ['inference'] })
  expect(first).toMatch(/^sk-dragoman-[0-9A-Za-z]{32}$/)
  expect(await file.add({ scopes: ['inference'] })).not.toBe(first)
})

test('the first key is made once, and only then returned', async () => {
  const path = await missingFile()
  const created = await new ApiKeyFile(path).ensureKey()
  const again = new ApiKeyFile(path)
  expect(await again.ensureKey()).toBeUndefined()
  expect(again.find(hashApiKey(created ?? ''))).toMatchObject({ scopes: ['inference', 'tools', 'metrics', 'admin'] })
})

test('the file does not contain a key, belongs to its owner only, and is alone in its folder', async () => {
  const path = await missingFile()
  const file = new ApiKeyFile(path)
  const keys = [await file.ensureKey(), await file.add({ scopes: ['inference'], name: 'laptop' })]
  for (const key of keys) expect(await readFile(path, 'utf8')).not.toContain(key)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readdir(dirname(path))).toEqual(['api-keys.json'])
})

test('processes that start together agree on one key', async () => {
  const path = await missingFile()
  const created = await Promise.all(Array.from({ length: 5 }, () => new ApiKeyFile(path).ensureKey()))
  expect(created.filter((key) => key !== undefined)).toHaveLength(1)
  expect(new ApiKeyFile(path).list()).toHaveLength(1)
})

test('commands that make keys at the same time lose none', async () => {
  const path = await missingFile()
  const made = await Promise.all(Array.from({ length: 5 }, () => new ApiKeyFile(path).add({ scopes: ['inference'] })))
  const file = new ApiKeyFile(path)
  expect(made.filter((key) => file.find(hashApiKey(key)) === undefined)).toEqual([])
})

test('a running server finds a key that another process makes, and none that it deletes', async () => {
  const path = await missingFile()
  const server = new ApiKeyFile(path)
  const command = new ApiKeyFile(path)
  await server.ensureKey()
  const hash = hashApiKey(await command.add({ scopes: ['inference'], name: 'laptop' }))
  expect(server.find(hash)).toMatchObject({ name: 'laptop', scopes: ['inference'] })
  await command.remove('laptop')
  expect(server.find(hash)).toBeUndefined()
  expect(server.list()).toHaveLength(1)
})

test('the last use of a key is written later, and brings no deleted key back', async () => {
  const path = await missingFile()
  const server = new ApiKeyFile(path)
  const command = new ApiKeyFile(path)
  const [kept = '', deleted = ''] = [
    hashApiKey(await command.add({ scopes: ['inference'] })),
    hashApiKey(await command.add({ scopes: ['inference'], name: 'guest' })),
  ]
  for (const hash of [kept, deleted]) server.noteUse(hash)
  expect(server.find(kept)?.lastUsedAt).toBeUndefined()
  await command.remove('guest')
  await server.writeUses()
  expect(command.list()).toEqual([expect.objectContaining({ hash: kept, lastUsedAt: expect.stringMatching(/^\d{4}-.*Z$/) })])
})

test('without a use, nothing is written', async () => {
  const path = await missingFile()
  await new ApiKeyFile(path).writeUses()
  await expect(stat(path)).rejects.toThrow('ENOENT')
})

test('a key is deleted by its id, and one that is not there is named with the others', async () => {
  const file = new ApiKeyFile(await missingFile())
  const key = await file.add({ scopes: ['inference'] })
  const id = keyId({ hash: hashApiKey(key) })
  await expect(file.remove('nobody')).rejects.toThrow(`there is no key 'nobody'; there are: ${id}`)
  expect(keyId(await file.remove(id))).toBe(id)
  await expect(file.remove(id)).rejects.toThrow('there are: none')
})

test('two keys of one name are told apart by their ids', async () => {
  const file = new ApiKeyFile(await missingFile())
  for (let index = 0; index < 2; index += 1) await file.add({ scopes: ['inference'], name: 'ci' })
  await expect(file.remove('ci')).rejects.toThrow("more than one key is called 'ci'; give its id")
})

test('keys of the earlier form of the file may do everything', async () => {
  const hash = hashApiKey('sk-old')
  const file = new ApiKeyFile(await fileWith(JSON.stringify({ apiKeyHashes: [hash] })))
  expect(file.find(hash)).toEqual({ hash, scopes: ['inference', 'tools', 'metrics', 'admin'] })
  await file.add({ scopes: ['inference'] })
  expect(file.find(hash)).toEqual({ hash, scopes: ['inference', 'tools', 'metrics', 'admin'] })
})

test.skipIf(!canMount)(`on a full disk, no key is made, one is deleted, and no lock is left${mountHint}`, async () => {
  const { folder, fill, free } = await smallDisk()
  const file = new ApiKeyFile(join(folder, 'api-keys.json'))
  const [stolen, kept] = [await file.add({ scopes: ['inference'], name: 'stolen' }), await file.add({ scopes: ['inference'] })]
  fill()
  await expect(file.add({ scopes: ['inference'] })).rejects.toMatchObject({
    code: 'store-unavailable',
    message: 'the disk of this server is full; try again once there is room',
  })
  await file.remove('stolen')
  expect(await readdir(folder)).toEqual(['api-keys.json', 'fill'])
  expect(file.find(hashApiKey(stolen))).toBeUndefined()
  expect(new ApiKeyFile(join(folder, 'api-keys.json')).find(hashApiKey(kept))).toBeDefined()
  free()
  const later = await file.add({ scopes: ['inference'] })
  expect(file.find(hashApiKey(later))).toBeDefined()
})

test.each(['', '{"apiKeyHashes": []}', '{"apiKeyHashes": ["sk-plain"]}', '{"keys": [{"hash": "x"}]}'])(
  'the damaged file %j is an error',
  async (text) => {
    await expect(new ApiKeyFile(await fileWith(text)).ensureKey()).rejects.toThrow(/is damaged; delete it/)
  },
)
