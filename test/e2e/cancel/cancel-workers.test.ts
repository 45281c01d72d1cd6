import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generatingProtocols, postStream, replyIdOf } from '../../support/hostile/storm.ts'
import { until } from '../../support/http/app.ts'
import { buildProgram } from '../../support/process/built-program.ts'
import { type Seat, seatsOf, startWorkers, type WorkersServer } from '../../support/process/serve-workers.ts'

const models = [{ id: 'm', engine: 'fake' as const, script: 'from-request', aliases: ['default'], slots: 64 }]
const script = JSON.stringify({ chunks: Array.from({ length: 2000 }, () => 'w '), delayMs: 100 })

beforeAll(buildProgram)

describe('two processes on one port, of which one runs a request', () => {
  let server: WorkersServer
  let seats: readonly [Seat, Seat]
  beforeAll(async () => {
    server = await startWorkers({ models, storage: {} })
    seats = await seatsOf(server)
  })
  afterAll(() => server.stop())

  const stops = () => server.log.filter(({ msg }) => msg === 'request stopped')

  test.each(generatingProtocols.filter(({ idName }) => idName !== undefined))(
    'C46: a cancel of $path by $idName reaches it from both',
    async ({ path, body, idName = '', end }) => {
      for (const seat of seats) {
        const stream = postStream(`${server.url}${path}`, { ...body(script), model: 'm', stream: true })
        await until(() => replyIdOf(stream.text()) !== undefined)
        const before = stops().length
        const { text } = await seat.post('/api/inference/cancel', { [idName]: replyIdOf(stream.text()) })
        expect(JSON.parse(text)).toEqual({ cancelled: 1 })
        await stream.ended
        expect(stream.text()).toMatch(end)
        await until(() => stops().length === before + 1)
        expect(stops().at(-1)).toMatchObject({ reason: 'requested', by: expect.any(String), lateTokens: expect.any(Number) })
      }
    },
  )

  test.each(['POST /v1/responses/{id}/cancel', 'response_id'])(
    'C46: a background response is cancelled by %s of the other',
    async (route) => {
      const [here, there] = seats
      const { id } = JSON.parse((await here.post('/v1/responses', { model: 'm', input: script, background: true })).text)
      const before = stops().length
      if (route === 'response_id') {
        const { text } = await there.post('/api/inference/cancel', { response_id: id })
        expect(JSON.parse(text)).toEqual({ cancelled: 1 })
      } else {
        const { status, text } = await there.post(`/v1/responses/${id}/cancel`, {})
        expect([status, JSON.parse(text)]).toMatchObject([200, { id, status: 'cancelled' }])
      }
      await until(() => stops().length === before + 1)
      expect(stops().at(-1)).toMatchObject({ pid: here.pid, generationId: id, reason: 'requested', by: expect.any(String) })
    },
  )
})
