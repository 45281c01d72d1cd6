import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServeHome, type ServeProcess } from './support/process/serve-process.ts'

const minuteMs = 60_000

type Wire = { readonly id: string; readonly status: string; readonly error: { readonly message: string } | null }

/**
 * What holds for responses when their server is killed and started again, on any database. Databases are tested at the same time: what
 * takes long is the wait until a response is surely lost.
 */
export function describeRestarts(name: string, openStorage: () => Promise<string>): void {
  describe.concurrent(`a server that is killed, with ${name}`, () => {
    let home: Awaited<ReturnType<typeof createServeHome>>
    let server: ServeProcess
    beforeAll(async () => {
      home = await createServeHome(await openStorage())
      server = await home.start()
    })
    afterAll(() => home.remove())

    const restart = async () => {
      await server.kill()
      server = await home.start()
    }
    const call = async (path: string, body?: object) => {
      const reply = await fetch(`${server.url}/v1${path}`, {
        ...(body !== undefined && {
          method: 'POST',
          body: JSON.stringify({ model: 'default', ...body }),
          headers: { 'content-type': 'application/json' },
        }),
      })
      return { status: reply.status, body: (await reply.json()) as Wire }
    }
    const read = (id: string) => call(`/responses/${id}`)

    test.sequential('continues what was completed, and conversations', async () => {
      const first = await call('/responses', { input: 'one' })
      const conversation = await call('/conversations', { items: [{ role: 'user', content: 'hello' }] })
      await call('/responses', { input: 'two', conversation: conversation.body.id })
      await restart()
      expect(await read(first.body.id)).toEqual(first)
      expect(await call('/responses', { input: 'x', previous_response_id: first.body.id })).toMatchObject({ status: 200 })
      expect(await call('/responses', { input: 'x', conversation: conversation.body.id })).toMatchObject({ status: 200 })
      const items = await call(`/conversations/${conversation.body.id}/items`)
      expect((items.body as unknown as { data: unknown[] }).data).toHaveLength(5)
    })

    test.sequential('says of a response that it was running that it has failed, as soon as that is sure', {
      timeout: minuteMs,
    }, async ({ expect }) => {
      const input = JSON.stringify({ raw: 'late', delayMs: 10 * minuteMs })
      const { body } = await call('/responses', { input, background: true })
      await restart()
      expect(['queued', 'in_progress']).toContain((await read(body.id)).body.status)
      await expect.poll(async () => (await read(body.id)).body.status, { timeout: minuteMs, interval: 500 }).toBe('failed')
      expect((await read(body.id)).body.error?.message).toContain('ended before the response was complete')
    })
  })
}
