import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Shared, SharedDocuments, Topic } from '../src/contract/server/shared.ts'

const greeting: Topic<{ readonly text: string }, string> = {
  name: 'greetings',
  message: z.object({ text: z.string() }),
  answer: z.string(),
}
const anything: Topic<object, string> = { ...greeting, message: z.looseObject({}) }

/** What holds for all processes that share something, whatever carries it. */
export function describeShared(name: string, open: () => Promise<readonly [Shared, Shared, Shared]>): void {
  describe(`what processes share over ${name}`, () => {
    let here: Shared
    let there: Shared
    let third: Shared
    beforeAll(async () => {
      ;[here, there, third] = await open()
    })

    describe('a message', () => {
      test('reaches all others, once, in its order, and what is none of its topic reaches nobody', async () => {
        const heard: string[] = []
        for (const [listener, shared] of Object.entries({ here, there, third })) {
          await shared.subscribe(greeting, ({ text }) => {
            heard.push(`${listener} ${text}`)
            return undefined
          })
        }
        await here.publish(anything, { text: 5 })
        for (const text of ['one', 'two']) await here.publish(greeting, { text })
        const ofEach = () => ['here', 'there', 'third'].map((listener) => heard.filter((text) => text.startsWith(listener)))
        await expect.poll(ofEach).toEqual([[], ['there one', 'there two'], ['third one', 'third two']])
      })
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
    })

    test('a counter lets no more pass than its limit, of all together', async () => {
      const share = { requests: 1, tokens: 0, isStretched: false }
      const taken = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? here : there).usage.take('a', share, { requestsPerMinute: 3 })),
      )
      const passed = taken.filter((usage) => usage !== undefined).map(({ requests }) => requests)
      expect(passed.toSorted()).toEqual([1, 2, 3])
      expect(await there.usage.read('a')).toMatchObject({ requests: 3 })
    })

    test('a lock has one holder at a time, wherever it is', async () => {
      const unlock = await here.lock('turn')
      expect(unlock).toBeDefined()
      expect(await there.lock('turn')).toBeUndefined()
      expect(await there.lock('other')).toBeDefined()
      unlock?.()
      expect(await there.lock('turn')).toBeDefined()
    })
  })
}
