import { afterEach, expect, test, vi } from 'vitest'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { list } from './list.ts'

afterEach(() => void vi.restoreAllMocks())

test.each([
  ['no model', [], 'MODEL  STATE  CONTEXT  ALIASES'],
  [
    'models with names of different widths and an unknown context length',
    [
      { id: 'a-long-name', state: 'ready', context_length: 8192, aliases: ['default', 'gpt-*'] },
      { id: 'b', state: 'stopped', aliases: [] },
      { id: 'of-another-server' },
    ],
    [
      'MODEL              STATE    CONTEXT  ALIASES',
      'a-long-name        ready    8192     default, gpt-*',
      'b                  stopped  -',
      'of-another-server  -        -',
    ].join('\n'),
  ],
])('the table of %s', async (_, data, table) => {
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  const { origin, close } = await listenOnLoopback((_request, response) => response.end(JSON.stringify({ data })))
  await list({ server: { url: origin }, isServerNamed: true, loadConfig: () => Promise.reject(new Error('not needed')) })
  await close()
  expect(print.mock.calls).toEqual([[table]])
})
