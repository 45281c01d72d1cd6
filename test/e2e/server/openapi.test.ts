import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDescribed, refused, statusOf } from '../../support/http/described-server.ts'
import { generatorHint, isGeneratorInstalled, OpenapiClient } from '../../support/http/openapi-client.ts'
import type { Got } from '../../support/http/openapi-judge.ts'

let server: Awaited<ReturnType<typeof openDescribed>>
/** What the server answered, by the names of calls. */
const recorded = new Map<string, Got>()
beforeAll(async () => {
  server = await openDescribed()
})
afterAll(() => server.close())

describe('each route of the OpenAPI document', () => {
  test('takes its example and answers as its schema says, with no key that the schema lacks', async () => {
    const faults: string[] = []
    for (const call of server.calls()) {
      const { name, operation } = call
      try {
        if (call.json !== undefined) server.judge.checkBody(operation, call.json)
        const got = await server.send(call)
        recorded.set(name, got)
        server.judge.checkReply(operation, got)
        expect(got.status, got.text.slice(0, 300)).toBe(statusOf(call))
      } catch (error) {
        faults.push(`${name}: ${String(error)}`)
      }
    }
    expect(faults).toEqual([])
  })
})

describe.skipIf(!isGeneratorInstalled)(`a client that openapi-typescript makes of the document${generatorHint}`, () => {
  let fresh: typeof server
  let client: OpenapiClient
  beforeAll(async () => {
    fresh = await openDescribed()
    client = await OpenapiClient.generate(fresh)
  })
  afterAll(async () => {
    await client.close()
    await fresh.close()
  })

  test('type-checks with every example and every reply that was recorded', async () => {
    expect(recorded.size).toBeGreaterThan(100)
    expect(await client.typeErrors(recorded)).toEqual('')
  })

  test('calls every route', async () => {
    const got = await client.run()
    expect(got.size).toBe(fresh.calls().length)
    const unexpected = fresh.calls().filter((call) => got.get(call.name) !== statusOf(call))
    expect(unexpected.map(({ name }) => `${name}: ${got.get(name)}`)).toEqual([])
    expect(Object.keys(refused).filter((name) => !got.has(name))).toEqual([])
  })
})
