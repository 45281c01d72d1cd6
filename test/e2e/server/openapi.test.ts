import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenDescribed, openDescribed } from '../../support/http/described-server.ts'

let server: OpenDescribed
beforeAll(async () => {
  server = await openDescribed()
})
afterAll(() => server.close())

/** What this server cannot do with its models, and answers instead. */
const refused: Readonly<Record<string, number>> = {
  // A scripted model.
  'POST /infill': 400,
  'POST /v1/rerank': 400,
  'POST /v1/inference/rerank': 400,
  'POST /v1alpha/inference/rerank': 400,
  'POST /v1/lora/load': 400,
  'POST /v1/lora/unload': 400,
  // The model is one of the configuration.
  'DELETE /api/delete': 501,
}

describe('each route of the OpenAPI document', () => {
  test('takes its example and answers as its schema says, with no key that the schema lacks', async () => {
    const faults: string[] = []
    for (const call of server.calls()) {
      const { name, operation } = call
      try {
        if (call.json !== undefined) server.judge.checkBody(operation, call.json)
        const got = await server.send(call)
        server.judge.checkReply(operation, got)
        expect(got.status, got.text.slice(0, 300)).toBe(refused[name] ?? Number(Object.keys(operation.responses)[0]))
      } catch (error) {
        faults.push(`${name}: ${String(error)}`)
      }
    }
    expect(faults).toEqual([])
  })
})
