import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { formatModels, list } from './list.ts'

test.each([
  ['no model', [], 'MODEL  STATE  CONTEXT  ALSO CALLED'],
  [
    'models whose columns differ in width, and a context that is not known',
    [
      { id: 'a-long-name', state: 'ready', context_length: 8192, aliases: ['default', 'gpt-*'] },
      { id: 'b', state: 'stopped', aliases: [] },
      { id: 'of-another-server' },
    ],
    [
      'MODEL              STATE    CONTEXT  ALSO CALLED',
      'a-long-name        ready    8192     default, gpt-*',
      'b                  stopped  -',
      'of-another-server  -        -',
    ].join('\n'),
  ],
])('the table of %s', (_, models, table) => {
  expect(formatModels(models)).toBe(table)
})

describe('a server of another kind', () => {
  const serve = async (answer: string) => {
    const http = createServer(({ url }, response) =>
      url === '/v1/models' ? response.end(answer) : response.writeHead(404).end(),
    )
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => new Promise((resolve) => void http.close(() => resolve())))
    return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
  }

  test('needs no page about its health', async () => {
    const spy = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    onTestFinished(() => spy.mockRestore())
    await list(await serve('{"data": [{"id": "theirs"}]}'))
    expect(spy.mock.calls).toEqual([[expect.stringContaining('theirs')]])
  })

  test.each(['<html>', '{}', '[]'])('that answers %j is none of models', async (answer) => {
    await expect(list(await serve(answer))).rejects.toThrow('is no server of models: its /v1/models is no list')
  })
})
