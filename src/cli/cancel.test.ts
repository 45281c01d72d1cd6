import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openTestServer } from '../../test/support/http/test-server.ts'
import { type CancelFlags, cancel } from './cancel.ts'

let said: unknown[]
beforeEach(() => {
  said = []
  for (const stream of ['log', 'error'] as const) vi.spyOn(console, stream).mockImplementation((text) => void said.push(text))
})
afterEach(() => void vi.restoreAllMocks())

/** A server with two running requests of one session. */
async function serve() {
  const { deps, listen } = openTestServer()
  const runs = ['a', 'b'].map((name) =>
    deps.cancellations.open({ id: `chatcmpl-${name}`, owner: 'anyone', sessionId: 's', cancelId: name }),
  )
  const server = { url: `http://127.0.0.1:${await listen()}` }
  return { server, stopped: () => runs.map(({ signal }) => signal.aborted) }
}

describe('dragoman cancel', () => {
  test.each<[CancelFlags, readonly boolean[], string]>([
    [{ session: 's' }, [true, true], 'cancelled 2 requests'],
    [{ id: 'chatcmpl-b' }, [false, true], 'cancelled 1 request'],
    [{ cancelId: 'a' }, [true, false], 'cancelled 1 request'],
    [{ id: 'chatcmpl-a', session: 'unknown' }, [true, false], 'cancelled 1 request'],
  ])('dragoman cancel with %j stops what has that name', async (flags, expected, text) => {
    const { server, stopped } = await serve()
    expect(await cancel(server, flags)).toBe(0)
    expect(stopped()).toEqual(expected)
    expect(said).toEqual([text])
  })

  test.each<[CancelFlags, RegExp]>([
    [{ session: 'unknown' }, /nothing was cancelled/],
    [{ cancelId: 'unknown' }, /arrives within 30 seconds/],
  ])('with %j says that nothing runs by that name, and fails', async (flags, text) => {
    const { server, stopped } = await serve()
    expect(await cancel(server, flags)).toBe(1)
    expect(stopped()).toEqual([false, false])
    expect(said).toEqual([expect.stringMatching(text)])
  })

  test.each<[CancelFlags, RegExp]>([
    [{}, /name what to cancel/],
    [{ cancelId: 'a', session: 's' }, /leave out --id and --session/],
  ])('dragoman cancel refuses %j', async (flags, message) => {
    await expect(cancel({ url: 'http://127.0.0.1:9' }, flags)).rejects.toThrow(message)
  })
})
