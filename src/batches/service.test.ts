import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ann, dayMs, openService, reply } from '../../test/support/batch-service.ts'
import { until } from '../../test/support/http/app.ts'
import { AppError } from '../contract/errors.ts'
import type { Batch } from '../contract/server/batches.ts'
import type { SentLine } from './deps.ts'

const bodyOf = (input: string) => ({ model: 'model', input })
const usage = { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } }

describe('a line of a batch', () => {
  test('is sent again after a failure of the server, and ends with the third', async () => {
    const { run, ended, sent } = await openService({ send: (_, attempt) => reply(500, {}, { retryAfterMs: attempt }) })
    expect((await ended(await run([bodyOf('one')]))).counts).toMatchObject({ total: 1, errored: 1 })
    expect(sent).toHaveLength(3)
  })

  test('waits with the others while nobody answers, which one of them tries, and the batch shows why', async () => {
    let isAway = true
    const { run, ended, stateOf, sent } = await openService({
      slots: 4,
      send: () => (isAway ? reply(503, { error: { message: 'it starts' } }) : reply(200)),
    })
    const batch = await run(Array.from({ length: 40 }, (_, index) => bodyOf(`${index}`)))
    await until(() => sent.length >= 7)
    expect((await stateOf(batch)).waits).toMatchObject({ reason: 'it starts' })
    // Those of all slots and one that waited, then one at a time.
    expect(sent).toHaveLength(7)
    isAway = false
    expect((await ended(batch)).counts).toMatchObject({ succeeded: 40, errored: 0 })
  })

  test('waits while a gateway has no server, however few lines try it', async () => {
    const { run, stateOf, sent } = await openService({ send: () => reply(502) })
    const batch = await run([bodyOf('one'), bodyOf('two')])
    // One of them for the third time.
    await until(() => sent.length >= 5)
    await pause(500)
    expect((await stateOf(batch)).counts).toMatchObject({ errored: 0 })
  })

  test('with an output that breaks its schema holds up no others', async () => {
    const { run, ended, stateOf, sent } = await openService({
      slots: 1,
      send: ({ body }) => (body.includes('bad') ? reply(502, {}, { code: 'invalid-output' }) : reply(200)),
    })
    const bad = await run([bodyOf('bad')])
    await until(() => sent.length > 0)
    const batch = await run(Array.from({ length: 5 }, (_, index) => bodyOf(`${index}`)))
    await ended(batch)
    expect((await stateOf(bad)).waits).toBeUndefined()
  })

  test('that nobody answers, while others are answered, ends with the third', async () => {
    const hasBad = ({ body }: SentLine) => body.includes('bad')
    const { run, ended, sent } = await openService({ slots: 1, send: (line) => reply(hasBad(line) ? 503 : 200) })
    // A busy machine has a hundred of them after a while, which is the most.
    const timer = setInterval(() => void run([bodyOf('good')]).catch(() => undefined), 100)
    onTestFinished(() => clearInterval(timer))
    expect((await ended(await run([bodyOf('bad')]))).counts).toMatchObject({ succeeded: 0, errored: 1 })
    expect(sent.filter((body) => body.includes('bad'))).toHaveLength(3)
  })

  test('is sent again when there is no reply, and is not cancelled by that', async () => {
    const { run, ended } = await openService({
      send: (_, attempt) => (attempt === 1 ? Promise.reject(new Error('lost')) : reply(200)),
    })
    expect((await ended(await run([bodyOf('one')]))).counts).toMatchObject({ succeeded: 1, cancelled: 0 })
  })

  test('that never has a reply ends with an error in the words of its protocol, and the log says why', async () => {
    const { run, ended, textOf, failures } = await openService({ send: () => Promise.reject(new Error('lost')) })
    const { counts, errorFileId } = await ended(await run([bodyOf('one')]))
    expect(counts).toMatchObject({ errored: 1 })
    expect(JSON.parse(JSON.parse(textOf(errorFileId)).reply)).toEqual({ form: 'openai', code: 'internal' })
    expect(failures).toHaveLength(3)
  })

  test('keeps a reply that was complete before its batch was cancelled', async () => {
    let cancel = async () => undefined as unknown
    const { batches, run, ended } = await openService({
      send: async ({ signal }) => {
        await cancel()
        await until(() => signal.aborted)
        return reply(200)
      },
    })
    let begin = () => undefined as unknown
    const begun = new Promise((resolve) => {
      begin = () => resolve(undefined)
    })
    const batch = await run([bodyOf('one')])
    cancel = async () => {
      await batches.cancel('ann', 'openai', batch.id)
      begin()
    }
    await begun
    expect(await ended(batch)).toMatchObject({ state: 'cancelled', counts: { succeeded: 1, cancelled: 0 } })
  })

  test('waits when its key has reached a limit, and the batch shows why', async () => {
    let isOver = false
    const message = 'the limit of this key is reached'
    const send = () => (isOver ? reply(200, { usage }) : reply(429, { error: { message } }, { retryAfterMs: 500 }))
    const { run, ended, stateOf } = await openService({ send })
    const batch = await run([bodyOf('one'), bodyOf('two'), bodyOf('three')])
    await until(async () => (await stateOf(batch)).waits?.reason === message)
    isOver = true
    const { counts, usage: total, waits } = await ended(batch)
    expect(counts).toMatchObject({ succeeded: 3, errored: 0 })
    expect(waits).toBeUndefined()
    expect(total).toEqual({ inputTokens: 9, cachedInputTokens: 3, outputTokens: 6, reasoningTokens: 0 })
  })

  test('tries a limit again within a minute, though the limit says tomorrow: it may have become higher', async () => {
    const notBefore: number[] = []
    const { run, stateOf } = await openService({
      send: () => reply(429, {}, { retryAfterMs: dayMs }),
      onStore: { giveBack: (atMs) => notBefore.push(atMs) },
    })
    const batch = await run([bodyOf('one')])
    await until(async () => (await stateOf(batch)).waits !== undefined && notBefore.length > 0)
    expect((await stateOf(batch)).waits?.untilMs).toBeGreaterThan(Date.now() + dayMs / 2)
    expect(Math.max(...notBefore)).toBeLessThanOrEqual(Date.now() + 60_000)
  })

  test('goes back when somebody who waits needs its slot, and later keeps it', async () => {
    const send = ({ onWanted, signal }: SentLine) => {
      if (onWanted === undefined) return reply(200)
      onWanted()
      expect(signal.aborted).toBe(true)
      return reply(499)
    }
    const { run, ended, sent } = await openService({ send })
    expect((await ended(await run([bodyOf('one')]))).counts).toMatchObject({ succeeded: 1 })
    expect(sent).toHaveLength(4)
  })

  test('has the failure of a key that is gone', async () => {
    let isGone = false
    const { run, ended, textOf } = await openService({
      send: ({ principal }) => {
        isGone = true
        return principal === undefined ? reply(401) : reply(200)
      },
      slots: 1,
      findPrincipal: async () => (isGone ? undefined : ann),
    })
    const { counts, errorFileId } = await ended(await run([bodyOf('one'), bodyOf('two'), bodyOf('three'), bodyOf('four')]))
    expect(counts.succeeded + counts.errored).toBe(4)
    expect(counts.errored).toBeGreaterThan(0)
    expect(textOf(errorFileId)).toContain('"status":401')
  })

  test('shares the statements of the store with others that run fast', async () => {
    const calls = { claim: 0, finish: 0 }
    const counted = (name: keyof typeof calls) => () => {
      calls[name] += 1
    }
    const { run, ended } = await openService({
      send: () => reply(200),
      onStore: { claim: counted('claim'), finish: counted('finish') },
    })
    await ended(await run(Array.from({ length: 400 }, (_, index) => bodyOf(`${index}`))))
    expect(calls.claim).toBeLessThan(60)
    expect(calls.finish).toBeLessThan(60)
  })

  test('is sent once, though the store does not take its result for a while', async () => {
    let refusals = 3
    const finish = () => {
      refusals -= 1
      if (refusals >= 0) throw new AppError('store-unavailable', 'the store is away')
    }
    const { run, ended, sent } = await openService({ send: () => reply(200), onStore: { finish } })
    expect((await ended(await run([bodyOf('one'), bodyOf('two')]))).counts).toMatchObject({ succeeded: 2 })
    expect(sent).toHaveLength(2)
  }, 30_000)

  test('waits while the store cannot tell whether its key exists', async () => {
    let lookups = 0
    const findPrincipal = async () => {
      lookups += 1
      if (lookups === 4) throw new AppError('store-unavailable', 'the store is away')
      return ann
    }
    const { run, ended } = await openService({ send: () => reply(200), findPrincipal })
    const bodies = [bodyOf('one'), bodyOf('two'), bodyOf('three')]
    expect((await ended(await run(bodies))).counts).toMatchObject({ succeeded: 3 })
    expect(lookups).toBeGreaterThan(4)
  }, 30_000)

  test('is left to other processes while this one has enough of them to run', async () => {
    const send = ({ signal, onRead }: SentLine) => {
      setTimeout(onRead, 1)
      return new Promise<never>((_, reject) => signal.addEventListener('abort', reject))
    }
    const { run, sent, store } = await openService({ send })
    const { id } = await run(Array.from({ length: 100 }, (_, index) => bodyOf(`${index}`)))
    await until(() => sent.length > 0)
    await pause(500)
    const claim = { model: 'model', runner: 'other', limit: 100, groupings: 1, ready: new Map(), untilMs: Date.now() + 60_000 }
    expect((await store.claim(id, claim)).length).toBeGreaterThan(85)
  })

  test('runs when its claim was lost, while others of its process still run', async () => {
    let release = () => undefined as unknown
    const released = new Promise((resolve) => {
      release = () => resolve(undefined)
    })
    let lost: string | undefined
    let losses = 1
    const claim = (id: string) => {
      if (id !== lost || losses === 0) return
      losses -= 1
      throw new AppError('store-unavailable', 'the reply was lost')
    }
    const { run, ended, stateOf } = await openService({
      send: async ({ body, signal }) => {
        const stopped = new Promise((_, reject) => signal.addEventListener('abort', reject))
        if (body.includes('stuck')) await Promise.race([released, stopped])
        return reply(200)
      },
      onStore: { claim },
      // Leases of three seconds.
      wallClock: () => Date.now() - 12_000,
    })
    const stuck = await run([bodyOf('stuck')])
    await until(async () => (await stateOf(stuck)).state === 'running')
    const batch = await run([bodyOf('one'), bodyOf('two')])
    lost = batch.id
    expect((await ended(batch)).counts).toMatchObject({ succeeded: 2 })
    expect(losses).toBe(0)
    release()
    await ended(stuck)
  }, 30_000)

  test('runs with those that begin alike', async () => {
    const { run, ended, sent } = await openService({ send: () => reply(200), slots: 1 })
    const chats = ['a', 'b', 'a', 'b', 'a', 'b'].map((system, index) => ({
      model: 'model',
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: `${index}` },
      ],
    }))
    await ended(await run(chats))
    const systems = sent.map((body) => JSON.parse(body).messages[0].content).join('')
    expect(['aaabbb', 'bbbaaa']).toContain(systems)
  })

  test('keeps the digits of its numbers, and so does its reply', async () => {
    const seed = '"seed":12345678901234567890'
    const body = '{"n":0.10000000000000000001}'
    const { run, ended, sent, textOf } = await openService({ send: () => ({ ...reply(200), body }) })
    const { outputFileId } = await ended(await run([`{"model":"model",${seed}}`]))
    expect(sent).toEqual([expect.stringContaining(seed)])
    expect(textOf(outputFileId)).toContain(JSON.stringify(body))
  })
})

describe('a batch', () => {
  test('of requests exists once all of them are stored, and never if their process dies before', async () => {
    const { batches, store } = await openService({ send: () => reply(200) })
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    onTestFinished(release)
    async function* requests() {
      yield { customId: 'one', body: bodyOf('one') }
      await released
    }
    const given = { endpoint: '/v1/messages', windowMs: dayMs, nameOf: () => '' }
    const creating = batches.createFromRequests(ann, { ...given, requests: requests() })
    const arriving = async () => (await store.active())[0]
    await until(async () => (await arriving()) !== undefined)
    const { id } = (await arriving()) as Batch
    expect(await batches.list('ann', 'anthropic')).toEqual([])
    await expect(batches.cancel('ann', 'anthropic', id)).rejects.toMatchObject({ code: 'not-found' })
    release()
    const { leaseUntilMs: _, ...batch } = await creating
    expect((await batches.list('ann', 'anthropic')).map((one) => one.id)).toEqual([id])
    await store.create({ ...batch, id: 'msgbatch_half', state: 'validating', leaseUntilMs: Date.now() - 1 })
    batches.start()
    await until(async () => (await store.find('ann', 'msgbatch_half')) === undefined)
  })

  test('is refused while a hundred of its caller have not ended', async () => {
    const { run, ended, batches, store } = await openService({ send: () => reply(200) })
    const first = await run([bodyOf('one')])
    await ended(first)
    const { leaseUntilMs: _, ...like } = first
    const leaseUntilMs = Date.now() + dayMs
    for (let index = 0; index < 100; index += 1) {
      await store.create({ ...like, id: `batch_${index}`, owner: index === 0 ? 'bob' : 'ann', state: 'validating', leaseUntilMs })
    }
    await ended(await run([bodyOf('two')]))
    await store.create({ ...like, id: 'batch_100', state: 'validating', leaseUntilMs })
    await expect(run([bodyOf('three')])).rejects.toMatchObject({ code: 'rate-limit-exceeded' })
    await batches.cancel('ann', 'openai', 'batch_100')
  })

  test('whose time is over expires: what has not begun is not run', async () => {
    let nowMs = Date.now()
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const { run, ended, batches, textOf, stateOf } = await openService({
      send: () => released.then(() => reply(200)),
      slots: 1,
      wallClock: () => nowMs,
    })
    const batch = await run(Array.from({ length: 9 }, (_, index) => bodyOf(`${index}`)))
    await until(async () => (await stateOf(batch)).state === 'running')
    nowMs += dayMs
    batches.start()
    await until(async () => (await stateOf(batch)).counts.expired > 0)
    release()
    const done = await ended(batch)
    expect(done.state).toBe('expired')
    expect(done.counts.expired).toBeGreaterThan(0)
    expect(textOf(done.errorFileId)).toContain('"ending":"expired"')
  })

  test('goes on in the process that starts after the one that is closed', async () => {
    const { batches, create, run, ended, stateOf } = await openService({
      send: async ({ body, signal }) => {
        if (body.includes('stuck') && !isNext) await new Promise((_, reject) => signal.addEventListener('abort', reject))
        return reply(200)
      },
    })
    let isNext = false
    const batch = await run([bodyOf('one'), bodyOf('stuck'), bodyOf('two')])
    await until(async () => (await stateOf(batch)).counts.succeeded === 2)
    await batches.close()
    isNext = true
    create().start()
    expect((await ended(batch)).counts).toMatchObject({ succeeded: 3, cancelled: 0 })
  })
})
