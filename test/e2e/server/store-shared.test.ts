import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FilePlace, FileWishes, StoredFile } from '../../../src/contract/file-store.ts'
import type { Shared } from '../../../src/contract/server/shared.ts'
import { UploadedFiles } from '../../../src/media/uploaded-files.ts'
import { type OpenStore, openStore } from '../../../src/store/open-store.ts'
import { describeShared } from '../../shared-contract.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { shareOver } from '../../support/process/primary.ts'

type SharedStore = OpenStore & { files: FilePlace }

describe.skipIf(!hasPostgres)(`what servers share in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let stores: readonly [SharedStore, SharedStore, SharedStore]
  let here: Shared
  let there: Shared
  beforeAll(async () => {
    postgres = await startPostgres()
    const url = await postgres.createDatabase()
    const open = async () => (await openStore({ database: { type: 'postgres', url } })) as SharedStore
    stores = [await open(), await open(), await open()]
    ;[here, there] = [sharedBy(stores[0]), sharedBy(stores[1])]
  })
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await postgres.stop()
  })
  const sharedBy = ({ shared }: OpenStore) => shareOver(...(shared === undefined ? [] : [shared]))

  describeShared('PostgreSQL', async () => [here, there, sharedBy(stores[2])])

  test('a document is heard of again when the database was away', async () => {
    let known: unknown
    await here.documents.watch('away', (json) => {
      known = json
    })
    await postgres.restart(async () => {
      await expect(here.documents.change('away', () => 1)).rejects.toMatchObject({ code: 'store-unavailable' })
    })
    await there.documents.change('away', () => 'back')
    await expect.poll(() => known, { timeout: 10_000 }).toBe('back')
  })

  test('a lock is waited for while its holder gives it up', async () => {
    const unlock = await here.lock('soon')
    const waiting = there.lock('soon')
    unlock?.()
    expect(await waiting).toBeDefined()
  })

  describe('uploads', () => {
    const open = ({ files }: SharedStore, maxCount = 5) =>
      new UploadedFiles({ place: files, maxFileBytes: 10_000_000, maxBatchBytes: 10_000_000, maxBytes: 20_000_000, maxCount })
    async function* inPieces(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
    }
    const add = (
      files: UploadedFiles,
      owner: string,
      bytes: Uint8Array,
      wishes = async (): Promise<FileWishes> => ({ purpose: 'vision' }),
    ) =>
      files.add(
        owner,
        { filename: 'a.bin', mediaType: 'image/png', bytes: inPieces(bytes), wishes },
        new AbortController().signal,
      )
    const bytesOf = async (files: UploadedFiles, owner: string, { id }: StoredFile) => {
      const pieces: Uint8Array[] = []
      for await (const piece of await files.content(owner, id)) pieces.push(piece)
      return Buffer.concat(pieces)
    }

    test.each([0, 1, 65_536 * 16, 3_333_333])('of %d bytes arrive there as they were sent here', async (size) => {
      const bytes = randomBytes(size)
      const stored = await add(open(stores[0]), `of ${size}`, bytes)
      expect(await open(stores[1]).get(`of ${size}`, stored.id)).toEqual(stored)
      expect((await bytesOf(open(stores[1]), `of ${size}`, stored)).equals(bytes)).toBe(true)
    })

    test('belong to their owner, and are gone everywhere when they are deleted', async () => {
      const stored = await add(open(stores[0]), 'ann\0', Buffer.from('abc'))
      expect(await open(stores[1]).list('ann\0')).toEqual([stored])
      await expect(open(stores[1]).get('bob', stored.id)).rejects.toMatchObject({ code: 'not-found' })
      await expect(open(stores[1]).delete('bob', stored.id)).rejects.toMatchObject({ code: 'not-found' })
      await open(stores[1]).delete('ann\0', stored.id)
      await expect(open(stores[0]).content('ann\0', stored.id)).rejects.toMatchObject({ code: 'not-found' })
    })

    test('that are refused leave nothing, and have one room for all servers', async () => {
      const refused = add(open(stores[0]), 'cid', Buffer.from('abc'), () => Promise.reject(new Error('no')))
      await expect(refused).rejects.toThrow('no')
      const all = await Promise.allSettled(
        [stores[0], stores[1]].flatMap((store) => Array.from({ length: 4 }, () => add(open(store, 3), 'cid', Buffer.from('a')))),
      )
      const kept = await open(stores[0]).list('cid')
      expect(kept.length).toBeLessThanOrEqual(3)
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(kept.length)
    })
  })
})
