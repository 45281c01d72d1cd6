import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeyQuota, UsageCounter } from '../../../src/contract/quota.ts'
import { LeasedCounter } from '../../../src/quota/leased-counter.ts'
import { Quotas } from '../../../src/quota/quotas.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { chatBody } from '../../support/http/test-server.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { hasPostgres, postgresHint, startPostgres, type TestPostgres } from '../../support/process/postgres.ts'
import { createServeHome, type ServeProcess } from '../../support/process/serve-process.ts'

let postgres: TestPostgres
const silent = { onAway: () => undefined, onBack: () => undefined }

describe.skipIf(!hasPostgres)(`limits of keys that several processes keep together${postgresHint}`, () => {
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  describe('the counter', () => {
    const processes = 4
    let stores: Awaited<ReturnType<typeof openStore>>[]
    beforeAll(async () => {
      const url = await postgres.createDatabase()
      const open = () => openStore({ database: { type: 'postgres', url } })
      stores = [await open(), ...(await Promise.all(Array.from({ length: processes - 1 }, open)))]
    })
    afterAll(() => Promise.all(stores.map((store) => store.close())))
    const join = ({ usage }: { readonly usage?: UsageCounter }) => {
      if (usage === undefined) throw new Error('the store counts nothing')
      // A busy machine makes the database late: what is counted alone then is tested below.
      const patienceMs = 60_000
      return new Quotas(new LeasedCounter({ shared: usage, patienceMs, ...silent }))
    }

    test('lets as many requests pass as the limit allows, however they race', async () => {
      const quota = { account: 'requests', requestsPerMinute: 100 }
      const all = await Promise.allSettled(
        stores.flatMap((store) => {
          const quotas = join(store)
          return Array.from({ length: 50 }, () => quotas.admit(quota, {}))
        }),
      )
      expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
      for (const one of all) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'rate-limit-exceeded' })
    })

    test('lets all tokens be reserved, and no more, of which one request takes what is left', async () => {
      const quota = { account: 'tokens', tokensPerMinute: 1000 }
      const cost = { inputTokens: 10, maxOutputTokens: 31 }
      const all = await Promise.allSettled(
        stores.flatMap((store) => {
          const quotas = join(store)
          return Array.from({ length: 25 }, () => quotas.admit(quota, cost))
        }),
      )
      const reserved = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      expect(reserved.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(1000)
      expect(reserved.filter(({ isStretched }) => isStretched)).toHaveLength(1)
    })

    test('counts a use for all others from their next request on', async () => {
      const quota = { account: 'turns', requestsPerMinute: 1000 }
      const quotas = stores.map(join)
      for (let turn = 0; turn < 20; turn += 1) {
        const one = quotas[turn % processes] as Quotas
        await one.admit(quota, {})
        expect(one.states(quota)).toMatchObject([{ remaining: 999 - turn }])
      }
    })

    test('gives back what was not used, to all', async () => {
      const quota = { account: 'settled', tokensPerMinute: 1000 }
      const [here, there] = stores.map(join)
      const reservation = await here?.admit(quota, { inputTokens: 10, maxOutputTokens: 5000 })
      expect(reservation).toMatchObject({ tokens: 1000, isStretched: true })
      await expect(there?.admit(quota, {})).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
      await expect(there?.check(quota)).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
      if (reservation !== undefined) await here?.settle(quota, reservation, 400)
      await there?.check(quota)
      const rest = await there?.admit(quota, { inputTokens: 10, maxOutputTokens: 5000 })
      expect(rest).toMatchObject({ tokens: 600, isStretched: true })
      if (rest !== undefined) await there?.settle(quota, rest, 700)
      await expect(here?.admit(quota, {})).rejects.toMatchObject({ exceeded: { used: 1100 } })
    })

    test('begins a new minute when the last one is over, which gains nothing by it', async () => {
      const [store] = stores
      const quota = { account: 'old', requestsPerMinute: 2, tokensPerMinute: 100 }
      const quotas = join(store as (typeof stores)[number])
      const first = await quotas.admit(quota, { inputTokens: 10, maxOutputTokens: 80 })
      await quotas.settle(quota, { ...first, minute: first.minute - 60_000 }, 10)
      expect(quotas.states(quota)).toMatchObject([{ remaining: 1 }, { remaining: 10 }])
      await store?.prune(Date.now() + 61_000)
      await quotas.admit(quota, { inputTokens: 10, maxOutputTokens: 10 })
      expect(quotas.states(quota)).toMatchObject([{ remaining: 1 }, { remaining: 80 }])
    })
  })

  describe('eight processes', () => {
    const all = Array.from({ length: 8 }, (_, index) => `process ${index}`)
    let stores: Awaited<ReturnType<typeof openStore>>[]
    let statements = 0
    beforeAll(async () => {
      const url = await postgres.createDatabase()
      stores = []
      for (const _ of all) stores.push(await openStore({ database: { type: 'postgres', url } }))
    })
    afterAll(() => Promise.all(stores.map((store) => store.close())))

    const join = (own: string, patienceMs: number) => {
      const { usage } = stores[all.indexOf(own)] as (typeof stores)[number]
      const counting = <Args extends readonly unknown[], T>(call: (...args: Args) => Promise<T>) => {
        return (...args: Args) => {
          statements += 1
          return call(...args)
        }
      }
      const shared = { read: counting(usage.read), take: counting(usage.take), settle: counting(usage.settle) }
      return new Quotas(new LeasedCounter({ shared, processes: () => ({ own, all }), patienceMs, ...silent }))
    }

    /** How many requests of 20 tokens pass, `each` per process. */
    async function passed(quotas: readonly Quotas[], quota: KeyQuota, each: number): Promise<number> {
      const ofOne = async (one: Quotas) => {
        let count = 0
        for (let sent = 0; sent < each; sent += 1) {
          const reservation = await one.admit(quota, { inputTokens: 10, maxOutputTokens: 20 }).catch(() => undefined)
          if (reservation === undefined) continue
          count += 1
          void one.settle(quota, reservation, 20)
        }
        return count
      }
      return (await Promise.all(quotas.map(ofOne))).reduce((sum, count) => sum + count)
    }

    test('allow no more than 1.2 times a limit while the database is frozen or away, in the middle of a minute', async () => {
      const quotas = all.map((own) => join(own, 1000))
      const frozen = { account: 'frozen', requestsPerMinute: 80, tokensPerMinute: 2000 }
      const gone = { ...frozen, account: 'gone' }
      let [inFrozen, inGone] = [await passed(quotas, frozen, 3), await passed(quotas, gone, 3)]
      await postgres.freeze(async () => {
        inFrozen += await passed(quotas, frozen, 20)
      })
      await expect.poll(() => passed(quotas.slice(0, 1), { account: 'probe', requestsPerMinute: 1000 }, 1)).toBe(1)
      await postgres.restart(async () => {
        inGone += await passed(quotas, gone, 20)
      })
      inGone += await passed(quotas, gone, 20)
      expect(inFrozen).toBeGreaterThanOrEqual(70)
      expect(inFrozen).toBeLessThanOrEqual(96)
      expect(inGone).toBeGreaterThanOrEqual(70)
      expect(inGone).toBeLessThanOrEqual(96)
    })

    test('ask 50 times a second at most about a key with 5000 requests a second, all of which pass', async () => {
      const quotas = all.map((own) => join(own, 60_000))
      const hot: KeyQuota = { account: 'hot', requestsPerMinute: 300_000, tokensPerMinute: 150_000_000 }
      let sent = 0
      const refusals: unknown[] = []
      statements = 0
      const startMs = performance.now()
      const run = async (one: Quotas) => {
        for (let round = 0; performance.now() - startMs < 5000; round += 1) {
          const all = Array.from({ length: 63 }, async () => {
            const reservation = await one.admit(hot, { inputTokens: 10, maxOutputTokens: 500 })
            await one.settle(hot, reservation, 100)
          })
          sent += all.length
          for (const one of await Promise.allSettled(all)) if (one.status === 'rejected') refusals.push(one.reason)
          await pause(Math.max(0, startMs + (round + 1) * 100 - performance.now()))
        }
      }
      await Promise.all(quotas.map(run))
      const seconds = (performance.now() - startMs) / 1000
      expect(sent / seconds).toBeGreaterThan(3500)
      expect(refusals.slice(0, 1)).toEqual([])
      expect(statements / seconds).toBeLessThanOrEqual(50)
    })
  })

  describe('three servers', () => {
    let home: Awaited<ReturnType<typeof createServeHome>>
    let servers: readonly ServeProcess[]
    const requests = 30
    beforeAll(async () => {
      buildProgram()
      const names = ['many', 'away', 'spent']
      const apiKeys = names.map((name) => ({ key: name, name, requestsPerMinute: name === 'many' ? requests : 4 }))
      home = await createServeHome(await postgres.createDatabase(), { apiKeys })
      servers = await Promise.all([1, 2, 3].map(() => home.start()))
    })
    afterAll(() => home.remove())

    const chat = ({ url }: ServeProcess, key: string) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: chatBody('hello', { max_tokens: 3 }),
      })

    test('answer together as many requests of a key as it may send', async () => {
      // One after the other on each: a server waits a second for the database, and counts alone then.
      const ofEach = servers.map(async (server) => {
        const replies: Response[] = []
        while (replies.length < 20) replies.push(await chat(server, 'many'))
        return replies
      })
      const replies = (await Promise.all(ofEach)).flat()
      const statuses = replies.map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(requests)
      expect(statuses.filter((status) => status === 429)).toHaveLength(60 - requests)
      for (const { status, headers } of replies) {
        if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(30)
      }
    })

    test('allow their parts of what is left while the database is away, and count together again when it is back', async () => {
      const [here, other] = servers as [ServeProcess, ServeProcess]
      expect((await chat(here, 'away')).headers.get('x-ratelimit-remaining-requests')).toBe('3')
      const statuses: number[] = []
      await postgres.restart(async () => {
        for (const server of [here, here, other]) {
          statuses.push((await chat(server, 'away')).status)
        }
      })
      expect(statuses).toEqual([200, 429, 200])
      // The counter is left alone for a while after it has failed.
      await expect.poll(async () => (await chat(here, 'spent')).headers.get('x-ratelimit-remaining-requests')).toBe('0')
      await expect.poll(async () => (await chat(other, 'spent')).status).toBe(429)
    })
  })
})
