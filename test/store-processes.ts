import { describe, expect, test } from 'vitest'
import { type DatabaseLocation, openStore } from '../src/store/open-store.ts'
import { runAtOnce, startStoreProcess } from './support/process/store-process.ts'
import { items, response, uniqueId } from './support/stored.ts'

export type ProcessOptions = {
  /** An empty database. */
  readonly create: () => Promise<DatabaseLocation>
  /** Rows of a query without parameters. */
  readonly query: (database: DatabaseLocation, sql: string) => Promise<readonly unknown[]>
}

const killRounds = 3
const itemsPerResponse = 5

/** What several processes on one database can rely on. */
export function describeStoreProcesses(name: string, { create, query }: ProcessOptions): void {
  describe(`processes that share a store: ${name}`, { timeout: 120_000 }, () => {
    test('several that start at once on a new database all find their tables', async () => {
      const database = await create()
      await runAtOnce(Array.from({ length: 5 }, () => ({ database, task: { type: 'open' } })))
      const applied = await query(database, 'select name from dragoman_migrations order by name')
      expect(applied).toEqual([
        { name: '0001-responses-and-conversations' },
        { name: '0002-key-usage' },
        { name: '0003-completions' },
        { name: '0004-documents-and-files' },
        { name: '0005-usage-days' },
        { name: '0006-batches' },
        { name: '0007-usage-of-batches' },
        { name: '0008-responses-by-id' },
        { name: '0009-size-of-batches' },
      ])
    })

    test('what two add to one conversation is complete, and each in its order', async () => {
      const database = await create()
      const store = await openStore({ database })
      const conversationId = uniqueId('conv')
      await store.conversations.create({ id: conversationId, owner: 'ann', createdAtMs: Date.now(), metadata: {} }, [])
      const task = { type: 'append', conversationId, groups: 50 } as const
      const added = await runAtOnce([task, task].map((each) => ({ database, task: each })))
      const history = ((await store.conversations.history('ann', conversationId)) ?? []).map(({ id }) => id)
      await store.close()
      expect(history).toHaveLength(2 * 50 * 3)
      for (const groups of added) {
        const own = groups.map((group) => history.indexOf(group.split(' ')[0] ?? ''))
        expect(own.toSorted((a, b) => a - b)).toEqual(own)
        for (const [index, group] of groups.entries()) {
          const start = own[index] ?? 0
          expect(history.slice(start, start + 3)).toEqual(group.split(' '))
        }
      }
    })

    test('two that save the same responses store each once', async () => {
      const database = await create()
      const store = await openStore({ database })
      const conversationId = uniqueId('conv')
      await store.conversations.create({ id: conversationId, owner: 'ann', createdAtMs: Date.now(), metadata: {} }, [])
      const responses = Array.from({ length: 30 }, () => response({ conversationId, input: items(1), output: items(1) }))
      const task = { type: 'save', responses } as const
      await runAtOnce([task, task].map((each) => ({ database, task: each })))
      expect(await store.conversations.history('ann', conversationId)).toHaveLength(2 * responses.length)
      for (const each of responses) expect(await store.responses.find('ann', each.id)).toEqual(each)
      await store.close()
    })

    test('a process that is killed while it writes loses nothing that it saved, and leaves nothing in part', async () => {
      const database = await create()
      const saved: string[] = []
      for (let round = 0; round < killRounds; round++) {
        const killed = await startStoreProcess({ database, task: { type: 'save-until-killed' } })
        const killAfter = saved.length + 1 + Math.floor(Math.random() * 40)
        killed.begin()
        for await (const id of killed.lines) {
          saved.push(id)
          if (saved.length === killAfter) killed.kill()
        }
        await killed.ended
      }
      const store = await openStore({ database })
      for (const id of saved) {
        const found = await store.responses.find('ann', id)
        expect([found?.input.length, found?.output.length]).toEqual([3, 2])
      }
      await store.close()
      const partly = 'select response_id from response_items group by response_id having count(*)'
      expect(await query(database, `${partly} <> ${itemsPerResponse}`)).toEqual([])
      const without = 'select id from responses where id not in (select response_id from response_items)'
      expect(await query(database, without)).toEqual([])
    })
  })
}
