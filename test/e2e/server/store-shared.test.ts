import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FilePlace, StoredFile } from '../../../src/contract/file-store.ts'
import type { SharedDocuments, Store } from '../../../src/contract/store.ts'
import { UploadedFiles } from '../../../src/media/uploaded-files.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'

type SharedStore = Store & { documents: SharedDocuments; files: FilePlace; lock: NonNullable<Store['lock']> }

describe.skipIf(!hasPostgres)(`what servers share in PostgreSQL${postgresHint}`, () => {
  let postgres: TestPostgres
  let here: SharedStore
  let there: SharedStore
  beforeAll(async () => {
    postgres = await startPostgres()
    const url = await postgres.createDatabase()
    const open = async () => (await openStore({ database: { type: 'postgres', url } })) as SharedStore
    here = await open()
    there = await open()
  })
  afterAll(async () => {
    await Promise.all([here.close(), there.close()])
    await postgres.stop()
  })

  describe('a document', () => {
    test('is heard of where it changes, and everywhere else', async () => {
      const heard: unknown[] = []
      await here.documents.watch('one', (json) => heard.push(json))
      expect(heard).toEqual([])
      await here.documents.change('one', (json) => ({ before: json ?? null }))
      expect(heard).toEqual([{ before: null }])
      await there.documents.change('one', () => 'there')
      await expect.poll(() => heard).toEqual([{ before: null }, 'there'])
      const late: unknown[] = []
      await there.documents.watch('one', (json) => late.push(json))
      expect(late).toEqual(['there'])
      await there.documents.change('one', (json) => json)
      await here.documents.refresh('one')
      expect([heard.length, late.length]).toEqual([2, 1])
    })

    test('loses no change of those that race', async () => {
      const add = (documents: SharedDocuments) => documents.change('sum', (json) => ((json as number | undefined) ?? 0) + 1)
      await Promise.all(Array.from({ length: 20 }, (_, at) => add(at % 2 === 0 ? here.documents : there.documents)))
      let sum: unknown
      await here.documents.watch('sum', (json) => {
        sum = json
      })
      expect(sum).toBe(20)
    })

    test('is read as it is at the moment, without a notification', async () => {
      let known: unknown
      await here.documents.watch('now', (json) => {
        known = json
      })
      for (const value of [1, 2, 3]) {
        await there.documents.change('now', () => value)
        await here.documents.refresh('now')
        expect(known).toBe(value)
      }
    })

    test('is heard of again when the database was away', async () => {
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
  })

  describe('a lock', () => {
    test('has one holder at a time, wherever it is', async () => {
      const unlock = await here.lock('turn')
      expect(unlock).toBeDefined()
      expect(await there.lock('turn')).toBeUndefined()
      expect(await there.lock('other')).toBeDefined()
      unlock?.()
      expect(await there.lock('turn')).toBeDefined()
    })

    test('is waited for while its holder gives it up', async () => {
      const unlock = await here.lock('soon')
      const waiting = there.lock('soon')
      unlock?.()
      expect(await waiting).toBeDefined()
    })
  })

  describe('uploads', () => {
    const open = ({ files }: SharedStore, maxCount = 5) =>
      new UploadedFiles({ place: files, maxFileBytes: 10_000_000, maxBytes: 20_000_000, maxCount })
    async function* inPieces(bytes: Uint8Array) {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
    }
    const add = (files: UploadedFiles, owner: string, bytes: Uint8Array, purposeOf = async () => 'vision') =>
      files.add(
        owner,
        { filename: 'a.bin', mediaType: 'image/png', bytes: inPieces(bytes), purposeOf },
        new AbortController().signal,
      )
    const bytesOf = async (files: UploadedFiles, owner: string, { id }: StoredFile) => {
      const pieces: Uint8Array[] = []
      for await (const piece of await files.content(owner, id)) pieces.push(piece)
      return Buffer.concat(pieces)
    }

    test.each([0, 1, 65_536 * 16, 3_333_333])('of %d bytes arrive there as they were sent here', async (size) => {
      const bytes = randomBytes(size)
      const stored = await add(open(here), `of ${size}`, bytes)
      expect(await open(there).get(`of ${size}`, stored.id)).toEqual(stored)
      expect((await bytesOf(open(there), `of ${size}`, stored)).equals(bytes)).toBe(true)
    })

    test('belong to their owner, and are gone everywhere when they are deleted', async () => {
      const stored = await add(open(here), 'ann\0', Buffer.from('abc'))
      expect(await open(there).list('ann\0')).toEqual([stored])
      await expect(open(there).get('bob', stored.id)).rejects.toMatchObject({ code: 'not-found' })
      await expect(open(there).delete('bob', stored.id)).rejects.toMatchObject({ code: 'not-found' })
      await open(there).delete('ann\0', stored.id)
      await expect(open(here).content('ann\0', stored.id)).rejects.toMatchObject({ code: 'not-found' })
    })

    test('that are refused leave nothing, and have one room for all servers', async () => {
      const refused = add(open(here), 'cid', Buffer.from('abc'), () => Promise.reject(new Error('no')))
      await expect(refused).rejects.toThrow('no')
      const all = await Promise.allSettled(
        [here, there].flatMap((store) => Array.from({ length: 4 }, () => add(open(store, 3), 'cid', Buffer.from('a')))),
      )
      const kept = await open(here).list('cid')
      expect(kept.length).toBeLessThanOrEqual(3)
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(kept.length)
    })
  })
})
